//! `breaker(…)` in the expansion: each of its values bound once, and the policy that they make.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::args::{Args, Slot};
use crate::keys::{Key, Takes};
use crate::policy::{Policy, bind, constant, duration, number, optional};

/// The breaker of a partition, or of a function.
pub(crate) struct Breaker<'a> {
    pub(crate) policy: &'a Policy<'a>,
}

impl<'a> Breaker<'a> {
    pub(crate) fn constants(&self) -> TokenStream {
        let constants = self.slots().map(|(key, slot)| {
            let ty = match key.takes() {
                Takes::Duration => duration(),
                _ => number(),
            };
            bind(key, slot, &ty)
        });
        let whole = self.whole();
        quote!(#(#constants)* #whole)
    }

    /// `__BULKHEAD_BREAKER`, of what could be read.
    fn whole(&self) -> Option<TokenStream> {
        let name = self.value()?;
        let (runtime, mixed) = (self.policy.runtime, Span::mixed_site());
        let given = self.slots().filter(|(_, slot)| slot.value().is_some());
        let settings = given.map(|(key, _)| {
            let (method, value) = (Ident::new(method(key), mixed), constant(key));
            quote_spanned!(mixed=> .#method(#value))
        });
        Some(quote_spanned! {mixed=>
            const #name: #runtime::BreakerPolicy = #runtime::BreakerPolicy::new() #(#settings)*;
        })
    }

    /// Its name in the expansion, if there is one.
    pub(crate) fn value(&self) -> Option<TokenStream> {
        let given = self.policy.args.breaker.value();
        given.map(|_| constant(Key::Breaker))
    }

    pub(crate) fn rules(&self) -> TokenStream {
        let rules = self.slots().map(|(key, slot)| {
            let value = constant(key);
            let arguments = match key {
                Key::SlowRate => {
                    let slow_given = !self.policy.args.slow.is_absent();
                    quote!(#value, #slow_given)
                }
                Key::MaxOpenFor => {
                    let open_for = self.open_for();
                    quote!(#value, #open_for)
                }
                _ => value,
            };
            self.policy.about(slot, key.as_str(), arguments)
        });
        rules.collect()
    }

    /// One that could not be read is not held against `max_open_for`: nothing is shorter than none.
    fn open_for(&self) -> TokenStream {
        let zero = quote_spanned! {Span::mixed_site()=>
            ::core::option::Option::Some(::core::time::Duration::ZERO)
        };
        optional(&self.policy.args.open_for, Key::OpenFor).unwrap_or(zero)
    }

    fn slots(&self) -> impl Iterator<Item = (Key, &'a Slot)> {
        let Args {
            failure_rate,
            slow_rate,
            slow,
            window,
            min_calls,
            consecutive,
            open_for,
            max_open_for,
            probes,
            ..
        } = self.policy.args;
        [
            (Key::FailureRate, failure_rate),
            (Key::SlowRate, slow_rate),
            (Key::Slow, slow),
            (Key::Window, window),
            (Key::MinCalls, min_calls),
            (Key::Consecutive, consecutive),
            (Key::OpenFor, open_for),
            (Key::MaxOpenFor, max_open_for),
            (Key::Probes, probes),
        ]
        .into_iter()
    }
}

/// Percentages are parts of a million here, and not of a hundred.
fn method(key: Key) -> &'static str {
    match key {
        Key::FailureRate => "failure_ppm",
        Key::SlowRate => "slow_ppm",
        Key::Slow => "with_slow",
        Key::Window => "with_window",
        Key::MinCalls => "with_min_calls",
        Key::Consecutive => "with_consecutive",
        Key::OpenFor => "with_open_for",
        Key::MaxOpenFor => "with_max_open_for",
        _ => "with_probes",
    }
}
