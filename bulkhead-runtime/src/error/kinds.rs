//! What each kind of error tells.

use std::fmt;
use std::time::Duration;

use super::{LONGEST_RETRY_AFTER, Origin, SHORTEST_RETRY_AFTER};
use crate::admission::Load;
use crate::function::Function;

/// [`Load`] in the space that an error has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SmallLoad {
    pub(crate) in_flight: u32,
    pub(crate) max: u32,
    pub(crate) waiting: u32,
    pub(super) mean_ms: u32,
}

impl SmallLoad {
    pub(super) fn retry_after(self) -> Duration {
        let millis =
            u64::from(self.mean_ms) * (u64::from(self.waiting) + 1) / u64::from(self.max.max(1));
        Duration::from_millis(millis).clamp(SHORTEST_RETRY_AFTER, LONGEST_RETRY_AFTER)
    }
}

impl From<Load> for SmallLoad {
    fn from(load: Load) -> Self {
        let Load {
            in_flight,
            max,
            waiting,
            mean,
            ..
        } = load;
        Self {
            in_flight,
            max,
            waiting,
            mean_ms: u32::try_from(mean.as_millis()).unwrap_or(u32::MAX),
        }
    }
}

/// Who was full, and how full.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` is full: {} of {} permits in flight{}{}", .origin.partition.name(), .load.in_flight, .load.max, Queue(self), Nested(self))]
pub struct BulkheadFull {
    pub(super) origin: Origin,
    pub(super) load: SmallLoad,
    /// The call around this one, where that holds a permit of the same partition.
    pub(super) holder: Option<&'static Function>,
}

impl BulkheadFull {
    /// The name of the partition.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        self.origin.partition.name()
    }

    /// Permits in use at that moment, those included that were granted and not claimed yet.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.load.in_flight
    }

    /// Permits that there are.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.load.max
    }

    /// Calls that waited at that moment.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.load.waiting
    }

    /// Calls that may wait, as it is now: the error does not keep it.
    #[must_use]
    pub fn queue(&self) -> u32 {
        self.origin.partition.live().gate.queue()
    }
}

/// A call that would have waited for the call around it.
struct Nested<'a>(&'a BulkheadFull);

impl fmt::Display for Nested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(holder) = self.0.holder else {
            return Ok(());
        };
        match self.0.origin.function {
            Some(inner) => write!(f, "; `{}` is called", inner.path())?,
            None => f.write_str("; this call is made")?,
        }
        write!(
            f,
            " inside `{}`, which holds one, and does not wait for it",
            holder.path()
        )
    }
}

struct Queue<'a>(&'a BulkheadFull);

impl fmt::Display for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.queue() {
            0 => f.write_str(" and no queue"),
            queue => write!(f, ", {} of {queue} queue places taken", self.0.waiting()),
        }
    }
}

/// A call that waited for too long.
#[derive(Debug, Clone)]
pub(super) struct Late {
    pub(super) origin: Origin,
    /// In nanoseconds.
    pub(super) waited: u64,
    pub(super) load: SmallLoad,
}

/// A call that was stopped. How full the partition was is not told: for both there is no space.
#[derive(Debug, Clone)]
pub(super) struct Stopped {
    pub(super) origin: Origin,
    /// In nanoseconds.
    pub(super) waited: u64,
    took_ms: u32,
    what: What,
}

/// What of it was stopped.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Body,
    Fallback { body_ran: bool },
}

impl Stopped {
    pub(super) fn new(origin: Origin, waited: u64, what: What, took: Duration) -> Self {
        Self {
            origin,
            waited,
            took_ms: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
            what,
        }
    }

    fn took(&self) -> Duration {
        Duration::from_millis(self.took_ms.into())
    }
}

/// How far a call had come.
#[derive(Debug, Clone)]
pub(super) enum Progress {
    Entering(Late),
    Stopped(Stopped),
}

/// A call that waited for its whole `wait`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` timed out after {:?} in the queue (`wait`): {}", self.partition(), self.waited(), Crowd(&self.0.load))]
pub struct WaitTimeout(pub(super) Late);

/// A call whose deadline passed, before its body could start, while it ran, or in its fallback; or that could not have
/// been done by its deadline any more. Of one that was stopped in its fallback, [`waited`](Self::waited) is zero.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", Passed(self))]
pub struct DeadlineExceeded(pub(super) Progress);

impl WaitTimeout {
    pub(super) fn origin(&self) -> &Origin {
        &self.0.origin
    }

    pub(super) fn crowd(&self) -> SmallLoad {
        self.0.load
    }

    fn waited_nanos(&self) -> u64 {
        self.0.waited
    }
}

impl DeadlineExceeded {
    /// The time for which the body ran, in whole milliseconds; `None` when it never did, and when it was a fallback that
    /// the deadline stopped. How full the partition was is told only of a body that never ran.
    #[must_use]
    pub fn ran(&self) -> Option<Duration> {
        match &self.0 {
            Progress::Stopped(stopped) => {
                matches!(stopped.what, What::Body).then(|| stopped.took())
            }
            Progress::Entering(_) => None,
        }
    }

    pub(super) fn body_ran(&self) -> bool {
        match &self.0 {
            Progress::Stopped(stopped) => {
                !matches!(stopped.what, What::Fallback { body_ran: false })
            }
            Progress::Entering(_) => false,
        }
    }

    pub(super) fn origin(&self) -> &Origin {
        match &self.0 {
            Progress::Entering(late) => &late.origin,
            Progress::Stopped(stopped) => &stopped.origin,
        }
    }

    pub(super) fn load(&self) -> Option<SmallLoad> {
        match &self.0 {
            Progress::Entering(late) => Some(late.load),
            Progress::Stopped(_) => None,
        }
    }

    /// Nobody at all, where it is not told.
    fn crowd(&self) -> SmallLoad {
        self.load().unwrap_or_default()
    }

    fn waited_nanos(&self) -> u64 {
        match &self.0 {
            Progress::Entering(late) => late.waited,
            Progress::Stopped(stopped) => stopped.waited,
        }
    }
}

struct Passed<'a>(&'a DeadlineExceeded);

impl fmt::Display for Passed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = self.0;
        let (partition, waited) = (late.partition(), late.waited());
        let stopped = match &late.0 {
            Progress::Entering(Late { load, .. }) => {
                return write!(
                    f,
                    "`{partition}` was not entered by its deadline, after {waited:?} in the queue: {}",
                    Crowd(load)
                );
            }
            Progress::Stopped(stopped) => stopped,
        };
        let took = stopped.took();
        let before = match stopped.what {
            What::Body => {
                return write!(
                    f,
                    "`{partition}` was stopped by its deadline, after {took:?} in the body; it had waited {waited:?} in the queue"
                );
            }
            What::Fallback { body_ran: true } => "a body that failed",
            What::Fallback { body_ran: false } => "a rejection",
        };
        write!(
            f,
            "`{partition}` was stopped by its deadline, after {took:?} in its fallback, which followed {before}"
        )
    }
}

/// What a call that was late tells: who, how long it waited, and how full it was then.
macro_rules! tells_of_late {
    ($name:ident) => {
        impl $name {
            /// The name of the partition.
            #[must_use]
            pub fn partition(&self) -> &'static str {
                self.origin().partition.name()
            }

            /// Permits in use at that moment.
            #[must_use]
            pub fn in_flight(&self) -> u32 {
                self.crowd().in_flight
            }

            /// Permits that there were.
            #[must_use]
            pub fn max(&self) -> u32 {
                self.crowd().max
            }

            /// Calls that still waited.
            #[must_use]
            pub fn waiting(&self) -> u32 {
                self.crowd().waiting
            }

            /// The time spent in the queue.
            #[must_use]
            pub fn waited(&self) -> Duration {
                Duration::from_nanos(self.waited_nanos())
            }
        }
    };
}

tells_of_late!(WaitTimeout);
tells_of_late!(DeadlineExceeded);

struct Crowd<'a>(&'a SmallLoad);

impl fmt::Display for Crowd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SmallLoad {
            in_flight,
            max,
            waiting,
            ..
        } = self.0;
        write!(
            f,
            "{in_flight} of {max} permits in flight, {waiting} waiting"
        )
    }
}

/// A call that came while a breaker was open, or waited when it opened.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the breaker of `{}` is open{}", self.partition(), NextProbe(self))]
pub struct BreakerOpen {
    pub(super) origin: Origin,
    /// In nanoseconds.
    pub(super) retry_after: Option<u64>,
}

impl BreakerOpen {
    /// The name of the partition.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        self.origin.partition.name()
    }

    /// The time until its next probe; `None` where that is not known, as when it was opened by hand.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after.map(Duration::from_nanos)
    }
}

struct NextProbe<'a>(&'a BreakerOpen);

impl fmt::Display for NextProbe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.retry_after() {
            Some(Duration::ZERO) => f.write_str(", its next probe is due"),
            Some(left) => write!(f, ", its next probe is in {left:?}"),
            None => Ok(()),
        }
    }
}

/// A call that came to a closed partition, or waited when it was closed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` is closed", .origin.partition.name())]
pub struct Closed {
    pub(super) origin: Origin,
    pub(super) load: SmallLoad,
}

impl Closed {
    /// The name of the partition.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        self.origin.partition.name()
    }
}

/// A body that ran for its whole `timeout`.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "`{}` timed out after {:?} in the body (`timeout` = {:?}); it had waited {:?} in the queue",
    self.partition(), self.ran(), self.timeout(), self.waited()
)]
pub struct CallTimeout {
    pub(super) origin: Origin,
    pub(super) waited: u64,
    pub(super) ran: u64,
    pub(super) timeout: u64,
}

impl CallTimeout {
    /// The name of the partition.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        self.origin.partition.name()
    }

    /// The time spent in the queue before the body started.
    #[must_use]
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited)
    }

    /// The time for which the body ran.
    #[must_use]
    pub fn ran(&self) -> Duration {
        Duration::from_nanos(self.ran)
    }

    /// The time for which it could have run.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout)
    }
}
