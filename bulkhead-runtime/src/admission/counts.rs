//! What passed a gate, counted without its lock; and how to read it.

use std::time::Duration;

use super::terms::Terms;
use crate::outcome::{Outcome, Outcomes};
use crate::sync::{AtomicU64, Ordering};
use crate::time::Instant;

/// How full the gate was at the moment of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) in_flight: u32,
    pub(crate) max: u32,
    pub(crate) waiting: u32,
    /// The mean time for which a permit is held.
    pub(crate) mean: Duration,
}

/// Every count at one moment.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) terms: Terms,
    pub(crate) highest_in_flight: u32,
    pub(crate) highest_waiting: u32,
    pub(crate) would_reject: u64,
    pub(crate) would_wait: u64,
    /// Since when nobody is let in from outside, if it is closed.
    pub(crate) closed_since: Option<Instant>,
    /// Only for those outside.
    pub(crate) is_draining: bool,
    pub(crate) in_flight: u32,
    pub(crate) granted: u32,
    pub(crate) waiting: u32,
    pub(crate) full: u64,
    pub(crate) breaker_open: u64,
    pub(crate) wait_timeout: u64,
    pub(crate) deadline: u64,
    pub(crate) closed: u64,
    pub(crate) abandoned: u64,
    pub(crate) outcomes: Outcomes,
    pub(crate) mean: Duration,
}

/// Rejections of a full gate and of an open breaker, and endings; a success is counted by the gate's word.
#[derive(Default)]
pub(super) struct Counts {
    full: AtomicU64,
    breaker_open: AtomicU64,
    failure: AtomicU64,
    ignored: AtomicU64,
    timed_out: AtomicU64,
    panicked: AtomicU64,
    cancelled: AtomicU64,
}

impl Counts {
    #[inline]
    pub(super) fn rejected_full(&self) {
        self.full.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn rejected_by_breaker(&self, calls: u64) {
        self.breaker_open.fetch_add(calls, Ordering::Relaxed);
    }

    pub(super) fn breaker_open(&self) -> u64 {
        self.breaker_open.load(Ordering::Relaxed)
    }

    pub(super) fn full(&self) -> u64 {
        self.full.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn ended(&self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Success => return,
            Outcome::Failure => &self.failure,
            Outcome::Ignored => &self.ignored,
            Outcome::TimedOut => &self.timed_out,
            Outcome::Panicked => &self.panicked,
            Outcome::Cancelled => &self.cancelled,
            Outcome::Unstarted => &self.breaker_open,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn outcomes(&self, success: u64) -> Outcomes {
        Outcomes {
            success,
            failure: self.failure.load(Ordering::Relaxed),
            ignored: self.ignored.load(Ordering::Relaxed),
            timed_out: self.timed_out.load(Ordering::Relaxed),
            panicked: self.panicked.load(Ordering::Relaxed),
            cancelled: self.cancelled.load(Ordering::Relaxed),
        }
    }
}

/// The exponentially weighted mean of the time for which a permit was held, in nanoseconds; 0 before
/// the first sample.
///
/// The newest sample weighs 1/8, as in the estimate of a round trip in RFC 6298. Two samples at once
/// may lose one: it is an estimate, and no call shall contend for it.
#[derive(Default)]
pub(super) struct Mean(AtomicU64);

impl Mean {
    #[cold]
    pub(super) fn sample(&self, held: Duration) {
        let held = u64::try_from(held.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mean = match self.0.load(Ordering::Relaxed) {
            0 => held,
            mean => (mean - mean / 8).saturating_add(held / 8),
        };
        self.0.store(mean, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
