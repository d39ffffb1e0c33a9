//! The call of a function with `retry`, `fallback` or `settle`: how its body is made, once or again, and what stands
//! in for an answer that there is not.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};

use crate::args::Args;
use crate::arguments::Argument;
use crate::captures::{self, Words};
use crate::expand::{body, judge};
use crate::function::{Function, Shape};
use crate::settled;
use crate::span::Ends;
use crate::value::Value;

/// A function with one of these keys, and all of them.
pub(crate) struct Whole<'a> {
    pub(crate) function: &'a Function,
    pub(crate) args: &'a Args,
    pub(crate) runtime: &'a TokenStream,
}

/// Whether a function has one of these keys.
pub(crate) fn is_whole(args: &Args) -> bool {
    let own = [&args.retry, &args.fallback, &args.settle];
    own.into_iter().any(|slot| slot.value().is_some())
}

impl Whole<'_> {
    pub(crate) fn call(&self) -> TokenStream {
        let (runtime, mixed) = (self.runtime, Span::mixed_site());
        let (before, bodies) = self.bodies();
        let judge = judge(self.function, self.args, runtime);
        // Before the bodies, which take the arguments.
        let (kept, whole) = match self.args.fallback.value() {
            None => (
                TokenStream::new(),
                quote_spanned! {mixed=>
                    #runtime::__private::guard_whole(&__BULKHEAD_FUNCTION, #bodies, #judge)
                },
            ),
            Some(call) => {
                let fallback = Fallback::of(self, call);
                let (kept, fallback) = (fallback.kept(), fallback.closure());
                (
                    quote_spanned!(mixed=> let kept = #kept;),
                    quote_spanned! {mixed=>
                        #runtime::__private::guard_whole_or(
                            &__BULKHEAD_FUNCTION, kept, #bodies, #judge, #fallback,
                        )
                    },
                )
            }
        };
        let returned = match self.function.shape {
            Shape::Async => quote_spanned!(mixed=> return #whole.await),
            Shape::Boxed(_) => quote_spanned!(mixed=> return ::std::boxed::Box::pin(#whole)),
        };
        quote!(#kept #before #returned)
    }

    /// What has to stand before them, and the bodies.
    fn bodies(&self) -> (TokenStream, TokenStream) {
        let (runtime, mixed) = (self.runtime, Span::mixed_site());
        let Some(when) = self.args.when.value() else {
            let (body, stays) = self.stays(&captures::in_order(self.function));
            let once = self.checked(
                quote_spanned!(mixed=> #runtime::__private::Once::new),
                stays,
            );
            return (body, once);
        };
        let captures::Again {
            named,
            kept,
            in_order,
        } = captures::again(self.function);
        let (body, stays) = self.stays(&in_order);
        // The clone is changed, and not what was given; that is no news to whoever wrote `mut`.
        let changed = named.iter().filter(|argument| argument.is_changeable());
        let changed = changed.map(|argument| {
            let Argument { name, cfgs, .. } = argument;
            quote_spanned!(mixed=> #cfgs let _ = &mut #name;)
        });
        let rebound = named.iter().map(|argument| self.rebound(argument));
        let when = &when.tokens;
        let again = self.checked(
            quote_spanned!(mixed=> #runtime::__private::Again::new),
            quote_spanned! {mixed=>
                move || { #kept #(#rebound)* #body #stays },
                |returned: #runtime::__private::Returned<'_, _>| {
                    use #runtime::__private::ReturnedWhole as _;
                    returned.is(#when)
                },
            },
        );
        (quote!(#(#changed)*), again)
    }

    /// `path(arguments)`, which looks whether the body is one that can settle: that it is none is said under the word.
    fn checked(&self, path: TokenStream, arguments: TokenStream) -> TokenStream {
        if let Some(settle) = self.args.settle.value() {
            settle.ends.call(path, arguments)
        } else {
            quote_spanned!(Span::mixed_site()=> #path(#arguments))
        }
    }

    /// One run of the body: what makes its future, and what becomes of that when its caller leaves.
    fn stays(&self, captures: &TokenStream) -> (TokenStream, TokenStream) {
        let (runtime, mixed) = (self.runtime, Span::mixed_site());
        let settles = self.args.settle.value().is_some();
        let body = body(self.function, captures);
        let future = match &self.function.shape {
            Shape::Async => quote_spanned!(mixed=> async move #body),
            Shape::Boxed(ty) => {
                let ty = if settles {
                    settled::for_ever(ty.clone())
                } else {
                    ty.clone()
                };
                quote_spanned!(mixed=> #runtime::__private::once(move || -> #ty #body))
            }
        };
        let body = quote_spanned!(mixed=> let body = #future;);
        let ends = Ident::new(if settles { "Settles" } else { "Stays" }, mixed);
        let stays = quote_spanned!(mixed=> #runtime::__private::#ends(body));
        (body, stays)
    }

    /// The argument of one run, under the name that the body knows.
    fn rebound(&self, argument: &Argument) -> TokenStream {
        let (runtime, mixed) = (self.runtime, Span::mixed_site());
        let Argument {
            name,
            cfgs,
            lints,
            mutability,
            ends,
        } = argument;
        if name == "self" {
            // There is no other name for it. A reference is given as often as it is asked for.
            let received = ends.reference(name);
            let path = quote_spanned!(mixed=> #runtime::__private::receive_again);
            return quote_spanned!(mixed=> #path(#received););
        }
        let (again, quiet) = (again(argument, runtime), quiet());
        quote_spanned! {mixed=>
            #cfgs
            #lints
            #quiet
            let #mutability #name = #again;
        }
    }
}

/// A clone. That there is none is said under the argument, in the signature.
fn again(argument: &Argument, runtime: &TokenStream) -> TokenStream {
    let name = argument.ends.reference(&argument.name);
    quote_spanned!(Span::mixed_site()=> #runtime::__private::again(#name))
}

/// A name of the user's own, bound twice: that is no choice of his.
fn quiet() -> TokenStream {
    quote! {
        #[allow(
            clippy::min_ident_chars,
            clippy::shadow_reuse,
            clippy::shadow_same,
            clippy::shadow_unrelated
        )]
    }
}

/// The call that stands in for an answer.
struct Fallback<'a> {
    whole: &'a Whole<'a>,
    call: TokenStream,
    ends: Ends,
    /// The arguments that it names, and what their clones are called until it is made.
    named: Vec<(&'a Argument, Ident)>,
    /// `error`, where the user wrote it.
    error: Option<Ident>,
}

impl<'a> Fallback<'a> {
    fn of(whole: &'a Whole<'a>, call: &Value) -> Self {
        let mixed = Span::mixed_site();
        let words = Words::of(call.tokens.clone());
        let mut variables = Vec::new();
        let tokens = captures::each_variable(call.tokens.clone(), &mut |variable| {
            variables.push(variable.clone());
            if variable == "self" {
                this().with_span_of(&variable)
            } else {
                variable
            }
        });
        let is_named = |argument: &&Argument| {
            variables.contains(&argument.name) || words.format(&argument.name)
        };
        let arguments = whole.function.arguments.iter().filter(is_named);
        let named = arguments
            .enumerate()
            .map(|(at, argument)| (argument, format_ident!("clone_{at}", span = mixed)))
            .collect();
        let error = variables.iter().find(|variable| **variable == "error");
        Self {
            whole,
            call: tokens,
            ends: call.ends,
            named,
            error: error.cloned().or_else(|| {
                let error = Ident::new("error", Span::call_site());
                words.format(&error).then_some(error)
            }),
        }
    }

    /// A clone of each argument that it names.
    fn kept(&self) -> TokenStream {
        let clones = self
            .named
            .iter()
            .map(|(argument, _)| again(argument, self.whole.runtime));
        quote_spanned!(Span::mixed_site()=> (#(#clones,)*))
    }

    fn closure(&self) -> TokenStream {
        let (runtime, mixed) = (self.whole.runtime, Span::mixed_site());
        let clones = self.named.iter().map(|(_, clone)| clone);
        let bound = self.named.iter().map(|(argument, clone)| {
            let name = if argument.name == "self" {
                this()
            } else {
                argument.name.clone()
            };
            let quiet = quiet();
            quote_spanned! {mixed=>
                #quiet
                let #name = #clone;
            }
        });
        let nobody = || quote_spanned!(mixed=> _);
        let error = self
            .error
            .as_ref()
            .map_or_else(nobody, ToTokens::to_token_stream);
        let call = self.ends.call(
            quote_spanned!(mixed=> ::core::convert::identity),
            self.call.clone(),
        );
        quote_spanned! {mixed=>
            |(#(#clones,)*), ended: #runtime::__private::Unanswered<_>| {
                use #runtime::__private::UnansweredWhole as _;
                let returns = ended.returns();
                ended.error().map(move |#error| async move {
                    #(#bound)*
                    #runtime::__private::instead(returns, #call).await
                })
            }
        }
    }
}

/// What `self` is called in the call: a fallback has a clone of it, under a name that can be bound.
fn this() -> Ident {
    Ident::new("this", Span::mixed_site())
}

trait Located {
    fn with_span_of(self, other: &Self) -> Self;
}

impl Located for Ident {
    fn with_span_of(mut self, other: &Self) -> Self {
        self.set_span(self.span().located_at(other.span()));
        self
    }
}
