//! `measured(…)` in the expansion: the traffic, bound once, and what the policy would do to it.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::args::Slot;
use crate::keys::Key;
use crate::policy::{Policy, bind, constant, duration, number, optional};

/// What was measured, beside the policy that is held against it.
pub(crate) struct Measured<'a> {
    pub(crate) policy: &'a Policy<'a>,
}

impl Measured<'_> {
    pub(crate) fn constants(&self) -> TokenStream {
        let args = self.policy.args;
        let rate = match args.rate.value() {
            Some(rate) if rate.is_literal => quote!(::core::primitive::u64),
            _ => number(),
        };
        let constants = [
            bind(Key::Rate, &args.rate, &rate),
            bind(Key::Mean, &args.mean, &duration()),
            bind(Key::Shed, &args.shed, &number()),
        ];
        let whole = self.whole();
        quote!(#(#constants)* #whole)
    }

    /// `__BULKHEAD_MEASURED`, if all of it could be read.
    fn whole(&self) -> Option<TokenStream> {
        let name = self.value()?;
        let (runtime, mixed) = (self.policy.runtime, Span::mixed_site());
        let (rate, mean) = (self.rate(), constant(Key::Mean));
        let shed = optional(&self.policy.args.shed, Key::Shed)?;
        Some(quote_spanned! {mixed=>
            const #name: #runtime::Measured = #runtime::__private::measured(#rate, #mean, #shed);
        })
    }

    /// Its name in the expansion, if all of it could be read.
    pub(crate) fn value(&self) -> Option<TokenStream> {
        let args = self.policy.args;
        let is_read = args.rate.value().is_some()
            && args.mean.value().is_some()
            && !matches!(args.shed, Slot::Unreadable);
        is_read.then(|| constant(Key::Measured))
    }

    /// In a thousand seconds: a literal is so already, an expression is in calls a second.
    fn rate(&self) -> TokenStream {
        let (runtime, rate) = (self.policy.runtime, constant(Key::Rate));
        match self.policy.args.rate.value() {
            Some(value) if !value.is_literal => {
                quote_spanned!(Span::mixed_site()=> #runtime::__private::in_a_thousand_seconds(#rate))
            }
            _ => rate,
        }
    }

    pub(crate) fn rules(&self) -> TokenStream {
        let (policy, args) = (self.policy, self.policy.args);
        let rules = [
            policy.about(&args.rate, "rate", self.rate()),
            policy.about(&args.mean, "mean", constant(Key::Mean)),
            policy.about(&args.shed, "shed", constant(Key::Shed)),
            self.about_policy(&args.max, "sheds"),
            self.about_policy(&args.queue, "drains"),
        ];
        rules.into_iter().collect()
    }

    /// The whole policy against the whole traffic, where nothing of either is unreadable.
    fn about_policy(&self, at: &Slot, rule: &str) -> TokenStream {
        let (policy, args) = (self.policy, self.policy.args);
        let known = (args.max.value(), policy.queue_and_wait(), self.value());
        let (Some(_), Some(queue_and_wait), Some(measured)) = known else {
            return TokenStream::new();
        };
        let max = constant(Key::Max);
        policy.about(at, rule, quote!(#max, #queue_and_wait, #measured))
    }
}
