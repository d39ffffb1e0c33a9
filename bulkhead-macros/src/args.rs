//! What an attribute says: one slot per key.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Error;

use crate::keys::{Attribute, Key};
use crate::value::Value;

/// What an attribute says, as far as it could be read.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) shared: Shared,
    pub(crate) name: Slot,
    pub(crate) max: Slot,
    pub(crate) queue: Slot,
    pub(crate) wait: Slot,
    pub(crate) reserve: Slot,
    pub(crate) per_key: Slot,
    /// The list itself; what it says is in the next three.
    pub(crate) measured: Slot,
    pub(crate) rate: Slot,
    pub(crate) mean: Slot,
    pub(crate) shed: Slot,
    pub(crate) status: Slot,
    pub(crate) timeout: Slot,
    pub(crate) deadline: Slot,
    pub(crate) margin: Slot,
    /// The list itself; what it says is in the next nine.
    pub(crate) breaker: Slot,
    pub(crate) failure_rate: Slot,
    pub(crate) slow_rate: Slot,
    pub(crate) slow: Slot,
    pub(crate) window: Slot,
    pub(crate) min_calls: Slot,
    pub(crate) consecutive: Slot,
    pub(crate) open_for: Slot,
    pub(crate) max_open_for: Slot,
    pub(crate) probes: Slot,
    /// The list itself; what it says is in the next five.
    pub(crate) retry: Slot,
    pub(crate) idempotent: Slot,
    pub(crate) attempts: Slot,
    pub(crate) backoff: Slot,
    pub(crate) cap: Slot,
    pub(crate) when: Slot,
    pub(crate) fallback: Slot,
    pub(crate) settle: Slot,
    /// The list itself; what it says is in the next three.
    pub(crate) retry_budget: Slot,
    pub(crate) ratio: Slot,
    pub(crate) min: Slot,
    pub(crate) budget_window: Slot,
    pub(crate) reject: Slot,
    pub(crate) classify: Slot,
    pub(crate) capacity: Slot,
    pub(crate) spare: Slot,
    pub(crate) replicas: Slot,
    runtime: Slot,
}

/// The place of one key.
#[derive(Default)]
pub(crate) enum Slot {
    #[default]
    Absent,
    /// Given, and its error is reported: no rule is applied to it, and it is not missing either.
    Unreadable,
    Given(Value),
}

/// The path of a partition that was declared elsewhere.
#[derive(Default)]
pub(crate) enum Shared {
    #[default]
    No,
    Unreadable,
    At(TokenStream),
}

impl Slot {
    pub(crate) fn value(&self) -> Option<&Value> {
        if let Self::Given(value) = self {
            Some(value)
        } else {
            None
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl Args {
    /// What has to be there and is not, told at `at`.
    pub(crate) fn missing(&mut self, list: Attribute, at: Span) -> Vec<Error> {
        let is_whole = Key::of_list(list).is_none();
        if is_whole && !matches!(self.shared, Shared::No) {
            return Vec::new();
        }
        let compulsory = list.compulsory().iter().copied();
        let (words, keys): (Vec<_>, Vec<_>) = compulsory
            .filter(|key| self.slot_mut(*key).is_absent())
            .partition(|key| key.is_word());
        // A word without a value is one that somebody has to have thought about.
        let words = words.iter().map(|_| NOT_IDEMPOTENT.to_owned());
        words
            .chain(missing(&keys, list))
            .map(|text| Error::new(at, text))
            .collect()
    }

    /// What only the declaration of the partition may say.
    pub(crate) fn told_twice(&self) -> impl Iterator<Item = Error> {
        let path = if let Shared::At(path) = &self.shared {
            Some(path)
        } else {
            None
        };
        let declared = [&self.name, &self.max, &self.queue, &self.wait];
        path.into_iter().flat_map(move |path| {
            let path = path.to_string().replace(' ', "");
            declared
                .into_iter()
                .filter_map(Slot::value)
                .map(move |value| {
                    let key = &value.key;
                    Error::new(
                        key.span(),
                        format!(
                            "`{key}` is for the declaration of `{path}` to say: remove it here"
                        ),
                    )
                })
        })
    }

    /// Where the runtime lives; `None` if the user said so and could not be understood.
    pub(crate) fn runtime(&self) -> Option<TokenStream> {
        match &self.runtime {
            Slot::Absent => Some(default_runtime()),
            Slot::Unreadable => None,
            Slot::Given(path) => Some(path.tokens.clone()),
        }
    }

    pub(crate) fn has_default_runtime(&self) -> bool {
        self.runtime.is_absent()
    }

    pub(crate) fn slot_mut(&mut self, key: Key) -> &mut Slot {
        match key {
            Key::Name => &mut self.name,
            Key::Max => &mut self.max,
            Key::Queue => &mut self.queue,
            Key::Wait => &mut self.wait,
            Key::Reserve => &mut self.reserve,
            Key::PerKey => &mut self.per_key,
            Key::Measured => &mut self.measured,
            Key::Rate => &mut self.rate,
            Key::Mean => &mut self.mean,
            Key::Shed => &mut self.shed,
            Key::Status => &mut self.status,
            Key::Timeout => &mut self.timeout,
            Key::Deadline => &mut self.deadline,
            Key::Margin => &mut self.margin,
            Key::Breaker => &mut self.breaker,
            Key::FailureRate => &mut self.failure_rate,
            Key::SlowRate => &mut self.slow_rate,
            Key::Slow => &mut self.slow,
            Key::Window => &mut self.window,
            Key::MinCalls => &mut self.min_calls,
            Key::Consecutive => &mut self.consecutive,
            Key::OpenFor => &mut self.open_for,
            Key::MaxOpenFor => &mut self.max_open_for,
            Key::Probes => &mut self.probes,
            Key::Retry => &mut self.retry,
            Key::Idempotent => &mut self.idempotent,
            Key::Attempts => &mut self.attempts,
            Key::Backoff => &mut self.backoff,
            Key::Cap => &mut self.cap,
            Key::When => &mut self.when,
            Key::Fallback => &mut self.fallback,
            Key::Settle => &mut self.settle,
            Key::RetryBudget => &mut self.retry_budget,
            Key::Ratio => &mut self.ratio,
            Key::Min => &mut self.min,
            Key::BudgetWindow => &mut self.budget_window,
            Key::Reject => &mut self.reject,
            Key::Classify => &mut self.classify,
            Key::Capacity => &mut self.capacity,
            Key::Spare => &mut self.spare,
            Key::Replicas => &mut self.replicas,
            Key::Crate => &mut self.runtime,
        }
    }
}

const NOT_IDEMPOTENT: &str = "`retry` needs the word `idempotent`: a retry runs the function again although the first \
    run may have had its effect (a second payment, a second mail); write `retry(idempotent, …)` only if running it twice \
    does what running it once does";

fn missing(keys: &[Key], list: Attribute) -> Option<String> {
    let names: Vec<_> = keys
        .iter()
        .map(|key| format!("`{}`", key.as_str()))
        .collect();
    match (keys, &names[..]) {
        ([key], [name]) => Some(format!(
            "missing {name}: write `{}`{}",
            key.example(),
            key.purpose()
        )),
        (_, [others @ .., end]) => Some(format!(
            "missing {} and {end}: write `{}`",
            others.join(", "),
            list.example()
        )),
        _ => None,
    }
}

pub(crate) fn default_runtime() -> TokenStream {
    quote_spanned!(Span::mixed_site()=> ::bulkhead_runtime)
}
