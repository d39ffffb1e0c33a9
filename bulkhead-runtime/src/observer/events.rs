//! Events for `tracing`, sampled so that an overload is not a storm of log lines.

use std::time::Duration;

use crate::error::BulkheadError;
use crate::partition::Partition;
use crate::registry::Conflict;
use crate::sync::Mutex;
use crate::time::{self, Instant};

/// At most one rejection of a partition is told of in this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// What the events of one partition remember.
#[derive(Default)]
pub(crate) struct Sampling(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    last: Option<Instant>,
    suppressed: u64,
}

impl Sampling {
    /// How many were suppressed since the last that was told, if this one is to be told.
    fn tell(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock();
        if window
            .last
            .is_some_and(|last| now.saturating_duration_since(last) < INTERVAL)
        {
            window.suppressed += 1;
            return None;
        }
        window.last = Some(now);
        Some(std::mem::take(&mut window.suppressed))
    }
}

pub(super) fn rejected(sampling: &Sampling, partition: &Partition, error: &BulkheadError) {
    if !tracing::enabled!(tracing::Level::WARN) {
        return;
    }
    let Some(load) = error.load() else { return };
    let Some(suppressed) = sampling.tell(time::now()) else {
        return;
    };
    tracing::warn!(
        partition = partition.name(),
        function = error.function(),
        reason = error.reason().as_str(),
        in_flight = load.in_flight,
        max = load.max,
        waiting = load.waiting,
        queue = partition.live().gate.queue(),
        suppressed,
        "call rejected"
    );
}

pub(super) fn conflict(conflict: &Conflict) {
    tracing::warn!(
        partition = conflict.first.name,
        "two policies under one name: {conflict}"
    );
}
