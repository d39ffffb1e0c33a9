//! Events for `tracing`, sampled so that an overload is not a storm of log lines.

use std::time::Duration;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

use crate::admission::{Saturation, Watch};
use crate::breaker::{Breaker, BreakerState, BreakerTransition};
use crate::error::BulkheadError;
use crate::partition::{Live, Partition};
use crate::registry::Conflict;
use crate::sync::Mutex;
use crate::time::{self, Instant};

/// At most one rejection of a partition is told of in this time, one call timeout, one call without a deadline, and
/// one retry that was not afforded.
const INTERVAL: Duration = Duration::from_secs(1);

/// Saturation for a moment is how a partition works; for so long it is worth a line.
const LONG: Duration = Duration::from_secs(1);

/// What the events of one partition remember.
#[derive(Default)]
pub(crate) struct Sampling(Mutex<Windows>);

/// The same for one kind of event.
#[derive(Default)]
pub(crate) struct OneSampling(Mutex<Window>);

impl OneSampling {
    fn tell(&self) -> Option<u64> {
        self.0.lock().tell(time::now())
    }
}

#[derive(Debug, Default)]
struct Windows {
    rejected: Window,
    timed_out: Window,
    without_deadline: Window,
}

#[derive(Debug, Default)]
struct Window {
    last: Option<Instant>,
    suppressed: u64,
}

impl Sampling {
    /// How many were suppressed since the last that was told, if this one is to be told.
    fn tell(&self, which: impl FnOnce(&mut Windows) -> &mut Window) -> Option<u64> {
        which(&mut self.0.lock()).tell(time::now())
    }
}

impl Window {
    fn tell(&mut self, now: Instant) -> Option<u64> {
        if self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) < INTERVAL)
        {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

/// How closely gates are watched for the subscriber that there is now.
pub(super) fn watch() -> Watch {
    if LevelFilter::current().min(STATIC_MAX_LEVEL) >= LevelFilter::INFO {
        Watch::Saturation
    } else {
        Watch::Nothing
    }
}

pub(super) fn rejected(live: &Live, error: &BulkheadError) {
    if !tracing::enabled!(tracing::Level::WARN) {
        return;
    }
    let Some(suppressed) = live.sampling.tell(|windows| &mut windows.rejected) else {
        return;
    };
    let Some(load) = error.load() else {
        tracing::warn!(
            partition = live.partition.name(),
            function = error.function(),
            reason = error.reason().as_str(),
            retry_after_ms = error.retry_after().map(millis),
            suppressed,
            "call rejected"
        );
        return;
    };
    tracing::warn!(
        partition = live.partition.name(),
        function = error.function(),
        reason = error.reason().as_str(),
        in_flight = load.in_flight,
        max = load.max,
        waiting = load.waiting,
        queue = live.gate.queue(),
        suppressed,
        "call rejected"
    );
}

pub(super) fn timed_out(live: &Live, error: &BulkheadError) {
    if !tracing::enabled!(tracing::Level::WARN) {
        return;
    }
    let Some(suppressed) = live.sampling.tell(|windows| &mut windows.timed_out) else {
        return;
    };
    tracing::warn!(
        partition = live.partition.name(),
        function = error.function(),
        reason = error.reason().as_str(),
        suppressed,
        "{error}"
    );
}

pub(super) fn breaker(breaker: &Breaker, transition: &BreakerTransition) {
    let (partition, function) = (breaker.partition().name(), breaker.function());
    let (from, to) = (transition.from.as_str(), transition.to.as_str());
    let (cause, open_for_ms) = (transition.cause, transition.open_for.map(millis));
    match transition.to {
        BreakerState::Open | BreakerState::ForcedOpen => {
            tracing::warn!(
                partition,
                function,
                from,
                to,
                open_for_ms,
                "breaker: {cause}"
            );
        }
        _ => tracing::info!(partition, function, from, to, "breaker: {cause}"),
    }
}

pub(super) fn without_deadline(live: &Live, function: &str) {
    if let Some(suppressed) = live.sampling.tell(|windows| &mut windows.without_deadline) {
        tracing::warn!(
            partition = live.partition.name(),
            function,
            suppressed,
            "`margin` without a deadline: nothing that it could shorten"
        );
    }
}

pub(super) fn budget_spent(live: &'static Live, function: &str) {
    if !tracing::enabled!(tracing::Level::WARN) {
        return;
    }
    if let Some(suppressed) = live.aftermath().sampling.tell() {
        tracing::warn!(
            partition = live.partition.name(),
            function,
            suppressed,
            "retry budget spent: failures are passed on as they are"
        );
    }
}

pub(super) fn saturation(partition: &Partition, saturation: Saturation) {
    let partition = partition.name();
    match saturation {
        Saturation::Began { episode } => {
            tracing::debug!(partition, episode, "saturated");
        }
        Saturation::Ended { episode, after } if after < LONG => {
            tracing::debug!(partition, episode, after_ms = millis(after), "relieved");
        }
        Saturation::Ended { episode, after } => {
            tracing::info!(partition, episode, after_ms = millis(after), "relieved");
        }
    }
}

pub(super) fn closed(partition: &Partition) {
    tracing::info!(partition = partition.name(), "closed");
}

pub(super) fn reopened(partition: &Partition) {
    tracing::info!(partition = partition.name(), "reopened");
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn conflict(conflict: &Conflict) {
    tracing::warn!(
        partition = conflict.first.name,
        "two policies under one name: {conflict}"
    );
}
