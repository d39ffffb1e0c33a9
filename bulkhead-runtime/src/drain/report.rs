//! What a drain tells of itself: whether anything was left, and what.

use std::fmt;
use std::time::Duration;

use crate::admission::Tally;
use crate::aftermath::Aftermath;
use crate::partition::{Live, Partition};
use crate::registry;
use crate::time::{self, Instant};

/// How a drain has ended.
#[derive(Debug, Clone)]
#[must_use = "it says whether calls were left"]
pub struct Drained {
    left: Vec<Left>,
    began: Instant,
    pub(super) ended: Instant,
    /// Something is left of what is still closed.
    pub(super) goes_on: bool,
}

/// What was left of a partition at the end of a [drain](Partition::drain).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Left {
    /// Which one.
    pub partition: &'static Partition,
    /// Bodies that run.
    pub in_flight: u64,
    /// Permits handed to waiters that have not claimed them yet.
    pub granted: u64,
    /// Calls that wait.
    pub waiting: u64,
    /// Calls that back off before another attempt.
    pub backing_off: u64,
    /// Calls whose fallback runs; a call on its way from an attempt to what comes next may be among them.
    pub in_fallback: u64,
    /// Of those in flight the ones that settle, the oldest first: their callers may have left long ago.
    pub settling: Vec<SettlingBody>,
    /// Since when nobody comes in from outside: each of these calls has been under way for longer, or is part of
    /// one that has. The beginning of the first drain, if there was another; or of the
    /// [`close`](Partition::close) before it.
    pub since: Instant,
}

/// A body that [settles](macro@crate::bulkhead#settle) and has not ended.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SettlingBody {
    /// The path of its function.
    pub function: &'static str,
    /// When it started.
    pub since: Instant,
}

impl Drained {
    /// What it would tell if it ended now. Waited for is what this tells: two looks can see different things.
    pub(super) fn now(lives: &[&'static Live], began: Instant) -> Self {
        let mut drained = Self {
            left: Vec::new(),
            began,
            ended: time::now(),
            goes_on: false,
        };
        for live in lives.iter().filter(|live| !live.is_idle()) {
            let tally = live.gate.tally();
            let left = Left::of(live, &tally, began);
            if left.calls() > 0 {
                drained.goes_on |= tally.closed_since.is_some();
                drained.left.push(left);
            }
        }
        let order = |left: &Left| registry::identity(left.partition);
        drained.left.sort_by_key(order);
        drained
    }

    /// Whether nothing was left.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// What was left, each partition once, in the order of [`partitions`](crate::partitions).
    #[must_use]
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// How long it took, from when it was called.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.ended.saturating_duration_since(self.began)
    }
}

impl Left {
    fn of(live: &'static Live, tally: &Tally, began: Instant) -> Self {
        let aftermath = live.aftermath_if_any();
        let unpermitted = aftermath.map(Aftermath::tally).unwrap_or_default();
        let settling = aftermath.map(Aftermath::settling).unwrap_or_default();
        let settling = settling.into_iter().map(|(function, since)| SettlingBody {
            function: function.path(),
            since,
        });
        let mut left = Self {
            partition: live.partition,
            in_flight: tally.in_flight.into(),
            granted: tally.granted.into(),
            waiting: tally.waiting.into(),
            backing_off: unpermitted.backing_off,
            // Those that came when it was closed are not waited for.
            in_fallback: unpermitted
                .in_fallback
                .min(aftermath.map_or(0, Aftermath::ongoing)),
            settling: settling.collect(),
            // It may have been reopened.
            since: tally.closed_since.unwrap_or(began),
        };
        if left.calls() == 0 {
            // It moved between the looks: counted where such a call may be.
            left.in_fallback = aftermath.map_or(0, Aftermath::ongoing);
        }
        left
    }

    fn calls(&self) -> u64 {
        self.in_flight + self.granted + self.waiting + self.backing_off + self.in_fallback
    }

    /// Each function with how many of its bodies settle, and since when the oldest of them runs.
    fn settling_by_function(&self) -> Vec<(&'static str, u64, Instant)> {
        let mut functions: Vec<(&str, u64, Instant)> = Vec::new();
        for SettlingBody { function, since } in &self.settling {
            match functions.iter_mut().find(|known| known.0 == *function) {
                Some((_, calls, _)) => *calls += 1,
                None => functions.push((function, 1, *since)),
            }
        }
        functions
    }

    /// What of it there is any of.
    fn parts(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let parts = [
            (self.in_flight, "in flight"),
            (self.granted, "granted"),
            (self.waiting, "waiting"),
            (self.backing_off, "backing off"),
            (self.in_fallback, "in a fallback"),
        ];
        parts.into_iter().filter(|(calls, _)| *calls > 0)
    }
}

/// A line for a log, with the numbers.
impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = Millis(self.took());
        if self.is_complete() {
            return write!(f, "drained in {took}");
        }
        let calls: u64 = self.left.iter().map(Left::calls).sum();
        let plural = if calls == 1 { "" } else { "s" };
        write!(f, "{calls} call{plural} left after {took}")?;
        for (at, left) in self.left.iter().enumerate() {
            let before = if at == 0 { ": " } else { "; " };
            write!(f, "{before}`{}`: ", left.partition.name())?;
            for (at, (calls, what)) in left.parts().enumerate() {
                let before = if at == 0 { "" } else { " and " };
                write!(f, "{before}{calls} {what}")?;
            }
            let time_since = |since| Millis(self.ended.saturating_duration_since(since));
            write!(f, ", closed for {}", time_since(left.since))?;
            for (at, (function, calls, oldest)) in left.settling_by_function().iter().enumerate() {
                let before = if at == 0 { ", settling: " } else { ", " };
                let time = time_since(*oldest);
                write!(f, "{before}{calls} of `{function}` for up to {time}")?;
            }
        }
        Ok(())
    }
}

/// Nobody reads more of it.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX) {
            0 => f.write_str("0ms"),
            millis => write!(f, "{:?}", Duration::from_millis(millis)),
        }
    }
}
