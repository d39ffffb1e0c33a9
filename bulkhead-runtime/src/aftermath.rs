//! What calls do after an attempt that has failed, while they hold no permit: they back off, or are in their fallback.
//!
//! One for each partition that has such calls, made when the first of them needs it.

mod guards;

use std::collections::BTreeMap;
use std::mem;
use std::task::Waker;

pub(crate) use guards::{BackingOff, InFallback, Settling};

use crate::foreign::harmless;
use crate::function::Function;
#[cfg(feature = "tracing")]
use crate::observer::OneSampling;
use crate::policy::Policy;
use crate::retry::{Budget, Fallbacks, Retries};
use crate::sync::{AtomicU64, Mutex, Ordering, fence};
use crate::time::{Instant, Stamp};

/// The retry budget of a partition, its gauges of calls without a permit, and what became of them.
pub(crate) struct Aftermath {
    /// Calls that may come to one of these, from before their first permit to their end.
    ongoing: AtomicU64,
    budget: Mutex<Budget>,
    sleepers: Mutex<Sleepers>,
    backing_off: AtomicU64,
    made: AtomicU64,
    rejected: AtomicU64,
    given_up: AtomicU64,
    budget_spent: AtomicU64,
    out_of_time: AtomicU64,
    in_fallback: AtomicU64,
    answered: AtomicU64,
    unanswered: AtomicU64,
    settling: Mutex<SettlingBodies>,
    /// Of retries that were not afforded.
    #[cfg(feature = "tracing")]
    pub(crate) sampling: OneSampling,
}

/// Bodies that go on although their callers may have left.
#[derive(Default)]
struct SettlingBodies {
    begun: u64,
    running: BTreeMap<u64, (&'static Function, Instant)>,
}

/// Those that back off, to be woken should the partition be closed.
#[derive(Default)]
struct Sleepers {
    begun: u64,
    wakers: BTreeMap<u64, Waker>,
}

/// Every gauge and count at one moment.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) backing_off: u64,
    pub(crate) retries: Retries,
    pub(crate) in_fallback: u64,
    pub(crate) fallbacks: Fallbacks,
}

impl Aftermath {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            ongoing: AtomicU64::new(0),
            budget: Mutex::new(Budget::of(policy.retry_budget().unwrap_or_default())),
            sleepers: Mutex::default(),
            backing_off: AtomicU64::new(0),
            made: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
            budget_spent: AtomicU64::new(0),
            out_of_time: AtomicU64::new(0),
            in_fallback: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            settling: Mutex::default(),
            #[cfg(feature = "tracing")]
            sampling: OneSampling::default(),
        }
    }

    /// Whether no call is under way that may come to one of these.
    pub(crate) fn is_idle(&self) -> bool {
        // Whoever has closed the partition sees that the last one has ended, or that one sees that it is closed.
        fence(Ordering::SeqCst);
        self.ongoing() == 0
    }

    /// How many such calls there are.
    pub(crate) fn ongoing(&self) -> u64 {
        self.ongoing.load(Ordering::Relaxed)
    }

    /// A call begins; [`end`](Self::end) is for the guard that was made for it.
    pub(crate) fn begin(&self) {
        count(&self.ongoing);
        // Whoever has closed the partition sees the call, or the call sees that it is closed.
        fence(Ordering::SeqCst);
    }

    pub(crate) fn end(&self) {
        self.ongoing.fetch_sub(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// A first attempt was admitted, of a call that may retry.
    pub(crate) fn deposit(&self, now: Stamp) {
        self.budget.lock().deposit(now);
    }

    /// Whether the budget affords a retry, which is decided on then.
    pub(crate) fn withdraw(&self, now: Stamp) -> bool {
        let is_afforded = self.budget.lock().withdraw(now);
        if !is_afforded {
            count(&self.budget_spent);
        }
        is_afforded
    }

    /// The body of a retry has started.
    pub(crate) fn retry_made(&self) {
        count(&self.made);
    }

    /// A retry was rejected after its backoff.
    pub(crate) fn retry_rejected(&self) {
        count(&self.rejected);
    }

    /// No retry, because there is no time left for it.
    pub(crate) fn out_of_time(&self) {
        count(&self.out_of_time);
    }

    /// A backoff begins; what it returns ends it.
    pub(crate) fn back_off(&'static self) -> BackingOff {
        count(&self.backing_off);
        let mut sleepers = self.sleepers.lock();
        sleepers.begun += 1;
        BackingOff {
            aftermath: self,
            number: sleepers.begun,
            goes_on: false,
        }
    }

    /// A fallback begins; what it returns ends it.
    pub(crate) fn fall_back(&'static self) -> InFallback {
        count(&self.in_fallback);
        InFallback {
            aftermath: self,
            is_answer: false,
        }
    }

    /// A body begins that settles; what it returns ends it.
    pub(crate) fn begin_settling(
        &'static self,
        function: &'static Function,
        since: Instant,
    ) -> Settling {
        let mut settling = self.settling.lock();
        settling.begun += 1;
        let number = settling.begun;
        settling.running.insert(number, (function, since));
        Settling {
            aftermath: self,
            number,
        }
    }

    /// Those that settle now, the oldest first, and since when.
    pub(crate) fn settling(&self) -> Vec<(&'static Function, Instant)> {
        self.settling.lock().running.values().copied().collect()
    }

    /// Wakes all that back off, so that they look whether they still should.
    pub(crate) fn wake_sleepers(&self) {
        let wakers = mem::take(&mut self.sleepers.lock().wakers);
        for waker in wakers.into_values() {
            harmless(|| waker.wake());
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Tally {
            backing_off: read(&self.backing_off),
            retries: Retries {
                made: read(&self.made),
                rejected: read(&self.rejected),
                given_up: read(&self.given_up),
                budget_spent: read(&self.budget_spent),
                out_of_time: read(&self.out_of_time),
            },
            in_fallback: read(&self.in_fallback),
            fallbacks: Fallbacks {
                answered: read(&self.answered),
                unanswered: read(&self.unanswered),
            },
        }
    }
}

fn count(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

#[cfg(all(test, bulkhead_loom))]
mod model;
