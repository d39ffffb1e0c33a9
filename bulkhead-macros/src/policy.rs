//! The policy in the expansion: each value bound once, each rule called once.
//!
//! A value that breaks a rule is underlined where the user wrote it, because every token of the
//! call has the place of that value. The rules themselves, and their texts, are the runtime's.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::args::{Args, Slot};
use crate::keys::Key;
use crate::span::Ends;
use crate::value::Value;

/// The policy that `args` declare, in the words of the expansion.
pub(crate) struct Policy<'a> {
    args: &'a Args,
    runtime: &'a TokenStream,
}

impl<'a> Policy<'a> {
    pub(crate) fn new(args: &'a Args, runtime: &'a TokenStream) -> Self {
        Self { args, runtime }
    }

    /// A `const` for each value, and one for each rule about it.
    ///
    /// The constants have names of their own, because items are not hygienic: `const MAX: u32 =
    /// MAX` would be a cycle with the user's `MAX`.
    pub(crate) fn constants(&self) -> TokenStream {
        let Args {
            name,
            max,
            queue,
            wait,
            status,
            timeout,
            ..
        } = self.args;
        let constants = [
            bind(Key::Name, name, &quote!(&'static ::core::primitive::str)),
            bind(Key::Max, max, &quote!(::core::primitive::u32)),
            bind(Key::Queue, queue, &quote!(::core::primitive::u32)),
            bind(Key::Wait, wait, &quote!(::core::time::Duration)),
            bind(Key::Status, status, &quote!(::core::primitive::u16)),
            bind(Key::Timeout, timeout, &quote!(::core::time::Duration)),
        ];
        let rules = [
            self.about(name, "name", constant(Key::Name)),
            self.about(max, "max", constant(Key::Max)),
            self.about_queue(),
            self.about_wait_without_queue(),
            self.about_wait(),
            self.about(status, "status", constant(Key::Status)),
            self.about(timeout, "timeout", constant(Key::Timeout)),
            self.about_wait_below_timeout(),
        ];
        quote!(#(#constants)* #(#rules)*)
    }

    /// The partition that is declared by these values.
    pub(crate) fn partition(&self) -> TokenStream {
        let runtime = self.runtime;
        let mixed = Span::mixed_site();
        let or = |slot: &Slot, key, default| {
            if slot.value().is_some() {
                constant(key)
            } else {
                default
            }
        };
        let name = or(&self.args.name, Key::Name, quote!(""));
        let max = or(&self.args.max, Key::Max, quote!(1));
        let queue = or(&self.args.queue, Key::Queue, quote!(0));
        let wait = or(
            &self.args.wait,
            Key::Wait,
            quote_spanned!(mixed=> ::core::time::Duration::ZERO),
        );
        let status = or(&self.args.status, Key::Status, quote!(503));
        quote_spanned! {mixed=> {
            static __BULKHEAD_STATE: #runtime::__private::State = #runtime::__private::State::new();
            #runtime::__private::partition(
                #runtime::__private::Declared {
                    name: #name,
                    module: ::core::module_path!(),
                    file: ::core::file!(),
                    line: ::core::line!(),
                    column: ::core::column!(),
                    policy: #runtime::__private::policy(#runtime::__private::Settings {
                        max: #max,
                        queue: #queue,
                        wait: #wait,
                        status: #status,
                        ..#runtime::__private::Settings::ABSENT
                    }),
                },
                &__BULKHEAD_STATE,
            )
        }}
    }

    fn about(&self, slot: &Slot, rule: &str, arguments: TokenStream) -> TokenStream {
        slot.value().map_or_else(TokenStream::new, |value| {
            self.rule(value.ends, rule, arguments)
        })
    }

    fn about_queue(&self) -> TokenStream {
        let queue = constant(Key::Queue);
        let wait_given = !self.args.wait.is_absent();
        self.about(&self.args.queue, "queue", quote!(#queue, #wait_given))
    }

    fn about_wait_without_queue(&self) -> TokenStream {
        match (self.args.wait.value(), &self.args.queue) {
            (None, _) | (_, Slot::Unreadable) => TokenStream::new(),
            (Some(wait), _) => self.rule(Ends::at(wait.key.span()), "wait_has_queue", self.queue()),
        }
    }

    fn about_wait(&self) -> TokenStream {
        let (queue, wait) = (self.queue(), constant(Key::Wait));
        self.about(&self.args.wait, "wait", quote!(#queue, #wait))
    }

    /// Without a queue, `wait` is wrong whatever it says.
    fn about_wait_below_timeout(&self) -> TokenStream {
        let has_queue = match &self.args.queue {
            Slot::Absent => false,
            Slot::Unreadable => true,
            Slot::Given(value) => !value.is_zero(),
        };
        if !has_queue || self.args.timeout.value().is_none() {
            return TokenStream::new();
        }
        let (wait, timeout) = (constant(Key::Wait), constant(Key::Timeout));
        self.about(
            &self.args.wait,
            "wait_below_timeout",
            quote!(#wait, #timeout),
        )
    }

    /// The length of the queue; one that could not be read is not held against `wait`.
    fn queue(&self) -> TokenStream {
        match &self.args.queue {
            Slot::Absent => quote!(0),
            Slot::Unreadable => quote!(1),
            Slot::Given(_) => constant(Key::Queue),
        }
    }

    pub(crate) fn rule(&self, at: Ends, rule: &str, arguments: TokenStream) -> TokenStream {
        let runtime = self.runtime;
        let rule = Ident::new(rule, Span::mixed_site());
        let path = quote_spanned!(Span::mixed_site()=> #runtime::__private::check::#rule);
        let call = at.call(path, arguments);
        quote_spanned!(Span::mixed_site()=> const _: () = #call;)
    }
}

/// The name under which the value of `key` is known in the expansion.
pub(crate) fn constant(key: Key) -> TokenStream {
    let name = format_ident!(
        "__BULKHEAD_{}",
        key.as_str().to_uppercase(),
        span = Span::mixed_site()
    );
    quote!(#name)
}

fn bind(key: Key, slot: &Slot, ty: &TokenStream) -> TokenStream {
    let Some(Value { tokens, ends, .. }) = slot.value() else {
        return TokenStream::new();
    };
    let name = constant(key);
    let head = ends.move_here(quote_spanned!(Span::mixed_site()=> const #name: #ty =));
    quote!(#head #tokens;)
}
