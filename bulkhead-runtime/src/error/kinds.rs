//! What each kind of error tells.

use std::fmt;
use std::time::Duration;

use super::{LONGEST_RETRY_AFTER, Origin, SHORTEST_RETRY_AFTER};
use crate::admission::Load;
use crate::function::Function;

/// [`Load`] in the space that an error has.
#[derive(Debug, Clone, Copy)]
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

impl SmallLoad {
    /// In the place of how full it was, for a body that ran: there is no space for both. A partition has at
    /// least one permit, so 0 of them says which it is.
    pub(super) fn of_a_body(ran: Duration) -> Self {
        Self {
            in_flight: 0,
            max: 0,
            waiting: 0,
            mean_ms: u32::try_from(ran.as_millis()).unwrap_or(u32::MAX),
        }
    }

    /// The same for a fallback that was stopped, after a body that ran or never did: marked by one waiting or none,
    /// and one in flight.
    pub(super) fn of_a_fallback(body_ran: bool, took: Duration) -> Self {
        Self {
            in_flight: 1,
            waiting: body_ran.into(),
            ..Self::of_a_body(took)
        }
    }

    /// Whether it is a load at all.
    pub(super) fn is_one(self) -> bool {
        self.max > 0
    }

    /// What a body took, or a fallback.
    fn took(self) -> Duration {
        Duration::from_millis(self.mean_ms.into())
    }

    pub(super) fn ran(self) -> Option<Duration> {
        (!self.is_one() && self.in_flight == 0).then(|| self.took())
    }

    /// How long a fallback took.
    fn fell_back(self) -> Option<Duration> {
        (!self.is_one() && self.in_flight == 1).then(|| self.took())
    }

    pub(super) fn body_ran(self) -> bool {
        self.ran().is_some() || self.fell_back().is_some() && self.waiting == 1
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

/// What a wait timeout and a passed deadline have in common.
#[derive(Debug, Clone)]
pub(super) struct Late {
    pub(super) origin: Origin,
    pub(super) waited: u64,
    pub(super) load: SmallLoad,
}

/// A call that waited for its whole `wait`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` timed out after {:?} in the queue (`wait`): {}", self.partition(), self.waited(), Crowd(&self.0.load))]
pub struct WaitTimeout(pub(super) Late);

/// A call whose deadline passed, before its body could start, while it ran, or in its fallback; or that could not have
/// been done by its deadline any more. Of one that was stopped in its fallback, [`waited`](Self::waited) is zero.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", Passed(self))]
pub struct DeadlineExceeded(pub(super) Late);

impl DeadlineExceeded {
    /// The time for which the body ran, in whole milliseconds; `None` when it never did, and when it was a fallback that
    /// the deadline stopped. How full the partition was is told only of a body that never ran.
    #[must_use]
    pub fn ran(&self) -> Option<Duration> {
        self.0.load.ran()
    }
}

struct Passed<'a>(&'a DeadlineExceeded);

impl fmt::Display for Passed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = self.0;
        let (partition, waited) = (late.partition(), late.waited());
        if let Some(took) = late.0.load.fell_back() {
            let before = if late.0.load.body_ran() {
                "a body that failed"
            } else {
                "a rejection"
            };
            return write!(
                f,
                "`{partition}` was stopped by its deadline, after {took:?} in its fallback, which followed {before}"
            );
        }
        match late.ran() {
            Some(ran) => write!(
                f,
                "`{partition}` was stopped by its deadline, after {ran:?} in the body; it had waited {waited:?} in the queue"
            ),
            None => write!(
                f,
                "`{partition}` was not entered by its deadline, after {waited:?} in the queue: {}",
                Crowd(&late.0.load)
            ),
        }
    }
}

/// What a call that was late tells: who, how long it waited, and how full it was then.
macro_rules! tells_of_late {
    ($name:ident) => {
        impl $name {
            /// The name of the partition.
            #[must_use]
            pub fn partition(&self) -> &'static str {
                self.0.origin.partition.name()
            }

            /// Permits in use at that moment.
            #[must_use]
            pub fn in_flight(&self) -> u32 {
                self.0.load.in_flight
            }

            /// Permits that there were.
            #[must_use]
            pub fn max(&self) -> u32 {
                self.0.load.max
            }

            /// Calls that still waited.
            #[must_use]
            pub fn waiting(&self) -> u32 {
                self.0.load.waiting
            }

            /// The time spent in the queue.
            #[must_use]
            pub fn waited(&self) -> Duration {
                Duration::from_nanos(self.0.waited)
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
