//! The policy in the expansion: each value bound once, each rule called once.
//!
//! A value that breaks a rule is underlined where the user wrote it, because every token of the
//! call has the place of that value. The rules themselves, and their texts, are the runtime's.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use crate::args::{Args, Slot};
use crate::breaker::Breaker;
use crate::contract::Contract;
use crate::keys::{Attribute, Key};
use crate::measured::Measured;
use crate::retry::{Retry, RetryBudget};
use crate::span::Ends;
use crate::value::Value;

/// The policy that `args` declare, in the words of the expansion.
pub(crate) struct Policy<'a> {
    /// Who declares it: a partition, or a function that brings one of its own.
    attribute: Attribute,
    pub(crate) args: &'a Args,
    pub(crate) runtime: &'a TokenStream,
}

impl<'a> Policy<'a> {
    pub(crate) fn new(attribute: Attribute, args: &'a Args, runtime: &'a TokenStream) -> Self {
        Self {
            attribute,
            args,
            runtime,
        }
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
            reserve,
            per_key,
            status,
            timeout,
            ..
        } = self.args;
        let constants = [
            bind(Key::Name, name, &quote!(&'static ::core::primitive::str)),
            bind(Key::Max, max, &number()),
            bind(Key::Queue, queue, &number()),
            bind(Key::Wait, wait, &duration()),
            bind(Key::Reserve, reserve, &number()),
            bind(Key::PerKey, per_key, &number()),
            bind(Key::Status, status, &quote!(::core::primitive::u16)),
            bind(Key::Timeout, timeout, &duration()),
            self.measured().constants(),
            self.breaker().constants(),
            self.retry().constants(),
            self.retry_budget().constants(),
            self.contract().constants(),
        ];
        let rules = [
            self.about(name, "name", constant(Key::Name)),
            self.about(max, "max", constant(Key::Max)),
            self.about_queue(),
            self.about_wait_without_queue(),
            self.about_wait(),
            self.about_part_of_max(reserve, Key::Reserve),
            self.about_part_of_max(per_key, Key::PerKey),
            self.about(status, "status", constant(Key::Status)),
            self.about(timeout, "timeout", constant(Key::Timeout)),
            self.about_wait_below_timeout(),
            self.measured().rules(),
            self.breaker().rules(),
            self.retry().rules(),
            self.retry_budget().rules(),
            self.contract().rules(),
        ];
        quote!(#(#constants)* #(#rules)*)
    }

    pub(crate) fn is_of_a_function(&self) -> bool {
        self.attribute == Attribute::Bulkhead
    }

    fn measured(&self) -> Measured<'_> {
        Measured { policy: self }
    }

    fn breaker(&self) -> Breaker<'_> {
        Breaker { policy: self }
    }

    pub(crate) fn retry(&self) -> Retry<'_> {
        Retry { policy: self }
    }

    fn retry_budget(&self) -> RetryBudget<'_> {
        RetryBudget { policy: self }
    }

    /// What only a function can say; of a partition, nothing.
    pub(crate) fn contract(&self) -> Contract<'_> {
        Contract { policy: self }
    }

    /// The partition that is declared by these values.
    pub(crate) fn partition(&self) -> TokenStream {
        let runtime = self.runtime;
        let mixed = Span::mixed_site();
        let name = constant_or(&self.args.name, Key::Name, quote!(""));
        let settings = self.settings();
        quote_spanned! {mixed=> {
            static __BULKHEAD_STATE: #runtime::__private::State = #runtime::__private::State::new();
            #runtime::__private::partition(
                #runtime::__private::Declared {
                    name: #name,
                    module: ::core::module_path!(),
                    file: ::core::file!(),
                    line: ::core::line!(),
                    column: ::core::column!(),
                    policy: #runtime::__private::policy(#runtime::__private::Settings { #settings }),
                },
                &__BULKHEAD_STATE,
            )
        }}
    }

    /// The fields that are given, and the rest.
    fn settings(&self) -> TokenStream {
        /// As many as `Settings` has fields.
        const ALL: usize = 9;
        let (args, runtime, mixed) = (self.args, self.runtime, Span::mixed_site());
        let some = |value| quote_spanned!(mixed=> ::core::option::Option::Some(#value));
        let plain = [
            (&args.max, Key::Max),
            (&args.queue, Key::Queue),
            (&args.wait, Key::Wait),
            (&args.reserve, Key::Reserve),
            (&args.status, Key::Status),
        ];
        let mut given: Vec<_> = plain
            .into_iter()
            .filter(|(slot, _)| slot.value().is_some())
            .map(|(_, key)| (key, constant(key)))
            .collect();
        let per_key = args.per_key.value().map(|_| some(constant(Key::PerKey)));
        given.extend(per_key.map(|value| (Key::PerKey, value)));
        let measured = self.measured().value().map(some);
        given.extend(measured.map(|value| (Key::Measured, value)));
        // That of a function is the function's own.
        let breaker = self.breaker().value().map(some);
        let breaker = breaker.filter(|_| !self.is_of_a_function());
        given.extend(breaker.map(|value| (Key::Breaker, value)));
        let retry_budget = self.retry_budget().value().map(some);
        given.extend(retry_budget.map(|value| (Key::RetryBudget, value)));
        let fields = given.iter().map(|(key, value)| {
            let field = Ident::new(key.as_str(), mixed);
            quote_spanned!(mixed=> #field: #value,)
        });
        // With nothing left out, there would be a lint about the rest.
        let rest = (given.len() < ALL)
            .then(|| quote_spanned!(mixed=> ..#runtime::__private::Settings::ABSENT));
        quote!(#(#fields)* #rest)
    }

    pub(crate) fn about(&self, slot: &Slot, rule: &str, arguments: TokenStream) -> TokenStream {
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

    /// `reserve` and `per_key`. A `max` that could not be read is not held against them: neither is 0.
    fn about_part_of_max(&self, slot: &Slot, key: Key) -> TokenStream {
        let part = constant(key);
        let max = constant_or(&self.args.max, Key::Max, quote!(0));
        self.about(slot, key.as_str(), quote!(#max, #part))
    }

    /// The length of the queue; one that could not be read is not held against `wait`.
    fn queue(&self) -> TokenStream {
        match &self.args.queue {
            Slot::Absent => quote!(0),
            Slot::Unreadable => quote!(1),
            Slot::Given(_) => constant(Key::Queue),
        }
    }

    /// The longest queue and wait, as two arguments; none where they cannot be told.
    pub(crate) fn queue_and_wait(&self) -> Option<TokenStream> {
        let queue = known(&self.args.queue, Key::Queue, quote!(0))?;
        let zero = quote_spanned!(Span::mixed_site()=> ::core::time::Duration::ZERO);
        let wait = known(&self.args.wait, Key::Wait, zero)?;
        Some(quote!(#queue, #wait))
    }

    pub(crate) fn rule(&self, at: Ends, name: &str, arguments: TokenStream) -> TokenStream {
        rule(self.runtime, at, name, arguments)
    }
}

/// A rule of the runtime, called while compiling; what it says is shown at `at`.
pub(crate) fn rule(
    runtime: &TokenStream,
    at: Ends,
    name: &str,
    arguments: TokenStream,
) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    let path = quote_spanned!(Span::mixed_site()=> #runtime::__private::check::#name);
    let call = at.call(path, arguments);
    quote_spanned!(Span::mixed_site()=> const _: () = #call;)
}

/// The name under which the value of `key` is known in the expansion.
pub(crate) fn constant(key: Key) -> TokenStream {
    let word = match key {
        // Beside the `window` of a breaker.
        Key::BudgetWindow => "budget_window",
        _ => key.as_str(),
    };
    let name = format_ident!(
        "__BULKHEAD_{}",
        word.to_uppercase(),
        span = Span::mixed_site()
    );
    quote!(#name)
}

/// The same, or `default` where no value could be read.
pub(crate) fn constant_or(slot: &Slot, key: Key, default: TokenStream) -> TokenStream {
    if slot.value().is_some() {
        constant(key)
    } else {
        default
    }
}

/// The same; nothing where it was given and could not be read.
pub(crate) fn known(slot: &Slot, key: Key, absent: TokenStream) -> Option<TokenStream> {
    match slot {
        Slot::Absent => Some(absent),
        Slot::Unreadable => None,
        Slot::Given(_) => Some(constant(key)),
    }
}

/// An `Option`, likewise.
pub(crate) fn optional(slot: &Slot, key: Key) -> Option<TokenStream> {
    let mixed = Span::mixed_site();
    match slot {
        Slot::Absent => Some(quote_spanned!(mixed=> ::core::option::Option::None)),
        Slot::Unreadable => None,
        Slot::Given(_) => {
            let value = constant(key);
            Some(quote_spanned!(mixed=> ::core::option::Option::Some(#value)))
        }
    }
}

pub(crate) fn number() -> TokenStream {
    quote!(::core::primitive::u32)
}

pub(crate) fn duration() -> TokenStream {
    quote!(::core::time::Duration)
}

pub(crate) fn bind(key: Key, slot: &Slot, ty: &TokenStream) -> TokenStream {
    let Some(Value { tokens, ends, .. }) = slot.value() else {
        return TokenStream::new();
    };
    let name = constant(key);
    let head = ends.move_here(quote_spanned!(Span::mixed_site()=> const #name: #ty =));
    quote!(#head #tokens;)
}
