//! `#[bulkhead]`: one declaration and one call.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, Meta};

use crate::args::{Args, Shared, Slot};
use crate::borrows;
use crate::captures;
use crate::fallback;
use crate::function::{Function, Shape};
use crate::keys::{Attribute, Key};
use crate::list;
use crate::policy::{Policy, constant};
use crate::scope;
use crate::span::Ends;
use crate::whole::{self, Whole};

pub(crate) fn bulkhead(tokens: TokenStream, item: &TokenStream) -> TokenStream {
    let (mut args, mut errors) = list::read(Attribute::Bulkhead, tokens);
    let function = match Function::parse(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            errors.push(error);
            return fallback::beside(item, &errors);
        }
    };
    scope::check(&mut args, &function, &mut errors);
    errors.extend(args.missing(Attribute::Bulkhead, Span::call_site()));
    errors.extend(args.told_twice());
    errors.extend(taken_twice(&args, &function));
    errors.extend(function.refused.clone());
    borrows::check(&args, &function, &mut errors);
    match args.runtime().filter(|_| errors.is_empty()) {
        Some(runtime) => {
            let policy = Policy::new(Attribute::Bulkhead, &args, &runtime);
            guarded(&function, &policy, &args, &runtime)
        }
        None => fallback::unguarded(&function, &args, &errors),
    }
}

fn guarded(
    function: &Function,
    policy: &Policy<'_>,
    args: &Args,
    runtime: &TokenStream,
) -> TokenStream {
    let Function {
        header,
        inner_attributes,
        ..
    } = function;
    let constants = policy.constants();
    let partition = partition(policy, args, runtime);
    let declared = declared(function, args, runtime);
    let call = call(function, args, runtime);
    let body = function.braces(quote!(#inner_attributes #constants #partition #declared #call));
    quote!(#header #body)
}

/// `__BULKHEAD_PARTITION`: a static of its own, or a reference to one that was declared elsewhere.
fn partition(policy: &Policy<'_>, args: &Args, runtime: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let Shared::At(path) = &args.shared else {
        let partition = policy.partition();
        return quote_spanned! {mixed=>
            static __BULKHEAD_PARTITION: #runtime::Partition = #partition;
            #runtime::__private::inventory::submit! {
                #runtime::__private::Registration::new(&__BULKHEAD_PARTITION)
            }
        };
    };
    let reference = Ends::of(path).move_here(quote_spanned!(mixed=> &));
    let name = quote_spanned!(mixed=> __BULKHEAD_PARTITION);
    let rules = policy.contract().rules_about(&name, Ends::of(path));
    // What tokens cannot tell of it.
    let contract = (!has_contract(args)).then(|| {
        quote_spanned! {mixed=>
            const __BULKHEAD_CONTRACT: ::core::primitive::bool =
                #runtime::__private::has_breaker(__BULKHEAD_PARTITION);
        }
    });
    quote_spanned! {mixed=>
        static __BULKHEAD_PARTITION: &'static #runtime::Partition = #reference #path;
        #rules
        #contract
    }
}

fn declared(function: &Function, args: &Args, runtime: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let partition = if let Shared::At(_) = args.shared {
        quote_spanned!(mixed=> __BULKHEAD_PARTITION)
    } else {
        quote_spanned!(mixed=> &__BULKHEAD_PARTITION)
    };
    let name = Literal::string(&function.name.unraw().to_string());
    let own = [
        (&args.timeout, Key::Timeout),
        (&args.deadline, Key::Deadline),
        (&args.margin, Key::Margin),
        (&args.breaker, Key::Breaker),
        (&args.retry, Key::Retry),
    ];
    let own = own
        .into_iter()
        .filter(|(slot, _)| slot.value().is_some())
        .map(|(_, key)| {
            let method = format_ident!("with_{}", key.as_str(), span = mixed);
            let value = constant(key);
            quote_spanned!(mixed=> .#method(#value))
        });
    let site = args
        .breaker
        .value()
        .map(|_| quote_spanned!(mixed=> .declared_at(::core::line!(), ::core::column!())));
    // So that its breaker is there before the first call.
    let registration = args.breaker.value().map(|_| {
        quote_spanned! {mixed=>
            #runtime::__private::inventory::submit! {
                #runtime::__private::BreakerRegistration::new(&__BULKHEAD_FUNCTION)
            }
        }
    });
    quote_spanned! {mixed=>
        static __BULKHEAD_FUNCTION: #runtime::__private::Function = #runtime::__private::Function::new(
            #partition,
            ::core::concat!(::core::module_path!(), "::", #name),
        ) #(#own)* #site;
        #registration
    }
}

/// The guard, around the future that the body is or makes.
fn call(function: &Function, args: &Args, runtime: &TokenStream) -> TokenStream {
    if whole::is_whole(args) {
        let whole = Whole {
            function,
            args,
            runtime,
        };
        return whole.call();
    }
    let mixed = Span::mixed_site();
    let guard = guard(args);
    let judge = judge(function, args, runtime);
    let body = body(function, &captures::in_order(function));
    match &function.shape {
        Shape::Async => quote_spanned! {mixed=>
            return #runtime::__private::#guard(&__BULKHEAD_FUNCTION, async move #body, #judge).await
        },
        Shape::Boxed(ty) => quote_spanned! {mixed=>
            let future: #ty = #runtime::__private::once(move || -> #ty #body);
            return ::std::boxed::Box::pin(#runtime::__private::#guard(&__BULKHEAD_FUNCTION, future, #judge))
        },
    }
}

/// The one that does no more than a call of this function needs.
fn guard(args: &Args) -> TokenStream {
    let mixed = Span::mixed_site();
    let may_queue = args.queue.value().is_some_and(|queue| !queue.is_zero());
    if has_contract(args) {
        quote_spanned!(mixed=> guard_timed::<true, _, _>)
    } else if matches!(args.shared, Shared::At(_)) {
        quote_spanned!(mixed=> guard_timed::<__BULKHEAD_CONTRACT, _, _>)
    } else if args.timeout.value().is_some() || may_queue {
        quote_spanned!(mixed=> guard_timed::<false, _, _>)
    } else {
        quote_spanned!(mixed=> guard)
    }
}

/// Whether more bounds a call than its queue and its `timeout`, as far as its own keys say.
fn has_contract(args: &Args) -> bool {
    let own = [&args.deadline, &args.margin, &args.breaker];
    own.into_iter().any(|slot| slot.value().is_some()) || whole::is_whole(args)
}

/// The body, in its own braces, with its own `return` and `?`.
///
/// The return that is never reached gives the block the declared type before anything in the body
/// is looked at; without it, inference, coercions and the places of the user's own errors change.
/// The body is the arm of a `match`, because lints for needless braces and for items behind
/// statements see nothing there, and nothing follows it that a diverging body would make
/// unreachable.
pub(crate) fn body(function: &Function, captures: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let body = &function.body;
    let never = match &function.shape {
        Shape::Async if !function.output.is_unknown() => {
            let ty = &function.output.nameable;
            // "Expected because of this return": that is said about the type.
            let typed_return = function
                .output
                .ends
                .move_here(quote_spanned!(mixed=> return never;));
            quote_spanned! {mixed=>
                if let ::core::option::Option::Some(never) = ::core::option::Option::None::<#ty> {
                    #captures
                    #typed_return
                }
            }
        }
        _ => quote_spanned!(mixed=> if false { #captures }),
    };
    quote_spanned!(mixed=> { #never match () { () => #body } })
}

/// How a rejection becomes the return value, and what a returned value means. A type that cannot
/// carry a rejection is underlined as a whole, and so is a `reject` that returns something else.
pub(crate) fn judge(function: &Function, args: &Args, runtime: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let output = function.output.ends;
    let (at, method, given) = match (args.reject.value(), args.classify.value()) {
        (None, None) => (output, "by_type", TokenStream::new()),
        (Some(reject), None) => (reject.ends, "reject", reject.tokens.clone()),
        (None, Some(classify)) => (output, "classify", classify.tokens.clone()),
        (Some(reject), Some(classify)) => {
            let (reject_tokens, classify) = (&reject.tokens, &classify.tokens);
            (
                reject.ends,
                "reject_and_classify",
                quote!(#reject_tokens, #classify),
            )
        }
    };
    let method = Ident::new(method, mixed);
    let path = quote_spanned!(mixed=> #runtime::__private::Ask::#method);
    // rustc blames the argument; only a call is as wide as the tokens of its two ends.
    let ask = at.call(
        quote_spanned!(mixed=> ::core::convert::identity),
        quote_spanned!(mixed=> ask),
    );
    let answer = at.call(path, quote_spanned!(mixed=> #ask, #given));
    quote_spanned!(mixed=> |ask| #answer)
}

/// A second `#[bulkhead]` below this one that takes from the same partition: with all permits
/// taken, the call would wait for itself.
fn taken_twice(args: &Args, function: &Function) -> Vec<Error> {
    let identity = |args: &Args| match (&args.shared, &args.name) {
        (Shared::At(path), _) => Some((path.to_string(), Ends::of(path))),
        (Shared::No, Slot::Given(name)) if name.is_literal => {
            Some((name.tokens.to_string(), name.ends))
        }
        _ => None,
    };
    let Some((own, _)) = identity(args) else {
        return Vec::new();
    };
    let below = function
        .attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::List(list) if is_bulkhead(list) => {
                identity(&list::read(Attribute::Bulkhead, list.tokens.clone()).0)
            }
            _ => None,
        });
    let same = below.filter(|(other, _)| *other == own);
    same.map(|(_, ends)| {
        let partition = own.replace([' ', '"'], "");
        ends.error(format!("`{partition}` is taken twice by one call: with all permits busy it would wait for itself"))
    })
    .collect()
}

fn is_bulkhead(list: &syn::MetaList) -> bool {
    list.path
        .segments
        .last()
        .is_some_and(|segment| segment.ident == "bulkhead")
}
