//! `retry(…)` and `retry_budget(…)` in the expansion: each of their values bound once, and the policies that they
//! make.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::args::Slot;
use crate::keys::Key;
use crate::policy::{Policy, bind, constant, constant_or, duration, number, optional};

/// How often a function is tried.
pub(crate) struct Retry<'a> {
    pub(crate) policy: &'a Policy<'a>,
}

impl Retry<'_> {
    pub(crate) fn constants(&self) -> TokenStream {
        let args = self.policy.args;
        let constants = [
            bind(Key::Attempts, &args.attempts, &number()),
            bind(Key::Backoff, &args.backoff, &duration()),
            bind(Key::Cap, &args.cap, &duration()),
        ];
        let whole = self.whole();
        quote!(#(#constants)* #whole)
    }

    /// `__BULKHEAD_RETRY`, if all of it could be read.
    fn whole(&self) -> Option<TokenStream> {
        let name = self.value()?;
        let (runtime, mixed) = (self.policy.runtime, Span::mixed_site());
        let (attempts, backoff) = (constant(Key::Attempts), constant(Key::Backoff));
        let cap = self.policy.args.cap.value().map(|_| {
            let cap = constant(Key::Cap);
            quote_spanned!(mixed=> .with_cap(#cap))
        });
        Some(quote_spanned! {mixed=>
            const #name: #runtime::__private::RetryPolicy =
                #runtime::__private::RetryPolicy::new(#attempts, #backoff) #cap;
        })
    }

    /// Its name in the expansion, if all of it could be read.
    pub(crate) fn value(&self) -> Option<TokenStream> {
        let args = self.policy.args;
        let is_read = args.retry.value().is_some()
            && args.attempts.value().is_some()
            && args.backoff.value().is_some()
            && !matches!(args.cap, Slot::Unreadable);
        is_read.then(|| constant(Key::Retry))
    }

    pub(crate) fn rules(&self) -> TokenStream {
        let (policy, args) = (self.policy, self.policy.args);
        let (cap, backoff) = (constant(Key::Cap), self.backoff());
        let rules = [
            policy.about(&args.attempts, "attempts", constant(Key::Attempts)),
            policy.about(&args.backoff, "backoff", constant(Key::Backoff)),
            policy.about(&args.cap, "backoff_cap", quote!(#cap, #backoff)),
        ];
        rules.into_iter().collect()
    }

    /// One that could not be read is not held against `cap`: nothing is shorter than none.
    fn backoff(&self) -> TokenStream {
        let zero = quote_spanned!(Span::mixed_site()=> ::core::time::Duration::ZERO);
        constant_or(&self.policy.args.backoff, Key::Backoff, zero)
    }
}

/// How many retries a partition affords.
pub(crate) struct RetryBudget<'a> {
    pub(crate) policy: &'a Policy<'a>,
}

impl<'a> RetryBudget<'a> {
    pub(crate) fn constants(&self) -> TokenStream {
        let constants = self.slots().map(|(key, _, slot)| {
            let ty = match key {
                Key::BudgetWindow => duration(),
                _ => number(),
            };
            bind(key, slot, &ty)
        });
        let whole = self.whole();
        quote!(#(#constants)* #whole)
    }

    /// `__BULKHEAD_RETRY_BUDGET`, of what could be read.
    fn whole(&self) -> Option<TokenStream> {
        let name = self.value()?;
        let (runtime, mixed) = (self.policy.runtime, Span::mixed_site());
        let given = self.slots().filter(|(_, _, slot)| slot.value().is_some());
        let settings = given.map(|(key, method, _)| {
            let (method, value) = (Ident::new(method, mixed), constant(key));
            quote_spanned!(mixed=> .#method(#value))
        });
        Some(quote_spanned! {mixed=>
            const #name: #runtime::RetryBudget = #runtime::RetryBudget::new() #(#settings)*;
        })
    }

    /// Its name in the expansion, if there is one.
    pub(crate) fn value(&self) -> Option<TokenStream> {
        let given = self.policy.args.retry_budget.value();
        given.map(|_| constant(Key::RetryBudget))
    }

    pub(crate) fn rules(&self) -> TokenStream {
        let (policy, args) = (self.policy, self.policy.args);
        // Without a `min` that could be read, no `ratio` is held against it.
        let one = quote_spanned!(Span::mixed_site()=> ::core::option::Option::Some(1));
        let min = optional(&args.min, Key::Min).unwrap_or(one);
        let ratio = constant(Key::Ratio);
        let rules = [
            policy.about(&args.ratio, "ratio", quote!(#ratio, #min)),
            policy.about(&args.min, "min", constant(Key::Min)),
            policy.about(
                &args.budget_window,
                "budget_window",
                constant(Key::BudgetWindow),
            ),
        ];
        rules.into_iter().collect()
    }

    /// A percentage is in parts of a million here, and not of a hundred.
    fn slots(&self) -> impl Iterator<Item = (Key, &'static str, &'a Slot)> {
        let args = self.policy.args;
        [
            (Key::Ratio, "ratio_in_ppm", &args.ratio),
            (Key::Min, "with_min", &args.min),
            (Key::BudgetWindow, "with_window", &args.budget_window),
        ]
        .into_iter()
    }
}
