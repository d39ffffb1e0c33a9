//! Why a call has no result: small, cheap to make, and with the numbers in it.

use std::fmt;
use std::time::Duration;

use crate::admission::{Bound, Load, Rejection};
use crate::function::Function;
use crate::partition::Partition;

/// Nobody is told to come back sooner.
const SHORTEST_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Nor later: what is known now says nothing about half a minute from now.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);

/// A call that did not run, or ran out of time.
///
/// At most 48 bytes, made without allocating. The text names the partition, the numbers, and the
/// clock that ran out.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BulkheadError {
    /// No permit was free, and no place in the queue for a call that may wait; the body never ran.
    #[error(transparent)]
    Full(BulkheadFull),
    /// The `wait` was over; the body never ran.
    #[error(transparent)]
    WaitTimeout(WaitTimeout),
    /// The body ran for its whole `timeout` and was dropped.
    #[error(transparent)]
    CallTimeout(CallTimeout),
    /// The caller's deadline passed in the queue; the body never ran.
    #[error(transparent)]
    DeadlineExceeded(DeadlineExceeded),
    /// The partition is closed; the body never ran.
    #[error(transparent)]
    Closed(Closed),
}

/// What kind of a [`BulkheadError`] it is: a label for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// [`BulkheadError::Full`].
    Full,
    /// [`BulkheadError::WaitTimeout`].
    WaitTimeout,
    /// [`BulkheadError::CallTimeout`].
    CallTimeout,
    /// [`BulkheadError::DeadlineExceeded`].
    DeadlineExceeded,
    /// [`BulkheadError::Closed`].
    Closed,
}

impl Reason {
    /// `full`, `wait_timeout`, `call_timeout`, `deadline_exceeded`, `closed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::WaitTimeout => "wait_timeout",
            Self::CallTimeout => "call_timeout",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl BulkheadError {
    /// The name of the partition.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        self.origin().partition.name()
    }

    /// The path of the annotated function; `None` for a permit that was taken by hand.
    #[must_use]
    pub fn function(&self) -> Option<&'static str> {
        self.origin().function.map(Function::path)
    }

    /// What kind of error it is.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Full(_) => Reason::Full,
            Self::WaitTimeout(_) => Reason::WaitTimeout,
            Self::CallTimeout(_) => Reason::CallTimeout,
            Self::DeadlineExceeded(_) => Reason::DeadlineExceeded,
            Self::Closed(_) => Reason::Closed,
        }
    }

    /// When it is worth trying again; `None` where waiting helps nobody.
    ///
    /// The time after which the queue will have moved on by one place more than now waits, at the
    /// mean time for which a permit was held: mean × (waiting + 1) ÷ max, at least 1 s, at most 30 s.
    /// For a closed partition, 1 s.
    /// Callers that all wait exactly that long come back together: spread them, as the `Retry-After`
    /// of the web features does.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            // It says nothing about how long.
            Self::Closed(_) => Some(SHORTEST_RETRY_AFTER),
            _ => self.load().map(SmallLoad::retry_after),
        }
    }

    /// Whether the body ran, at least in part: if not, the call had no effect.
    #[must_use]
    pub fn body_ran(&self) -> bool {
        matches!(self, Self::CallTimeout(_))
    }

    /// How full the partition was when it rejected the call.
    pub(crate) fn load(&self) -> Option<SmallLoad> {
        match self {
            Self::Full(full) => Some(full.load),
            Self::WaitTimeout(late) => Some(late.0.load),
            Self::DeadlineExceeded(late) => Some(late.0.load),
            Self::Closed(closed) => Some(closed.load),
            Self::CallTimeout(_) => None,
        }
    }

    fn origin(&self) -> &Origin {
        match self {
            Self::Full(full) => &full.origin,
            Self::WaitTimeout(late) => &late.0.origin,
            Self::CallTimeout(timeout) => &timeout.origin,
            Self::DeadlineExceeded(late) => &late.0.origin,
            Self::Closed(closed) => &closed.origin,
        }
    }

    pub(crate) fn rejected(origin: Origin, rejection: Rejection) -> Self {
        match rejection {
            Rejection::Closed(load) => Self::Closed(Closed {
                origin,
                load: load.into(),
            }),
            Rejection::Full(load) => Self::Full(BulkheadFull {
                origin,
                load: load.into(),
            }),
            Rejection::Late {
                bound,
                waited,
                load,
            } => {
                let late = Late {
                    origin,
                    waited: nanos(waited),
                    load: load.into(),
                };
                match bound {
                    Bound::Wait => Self::WaitTimeout(WaitTimeout(late)),
                    Bound::Deadline => Self::DeadlineExceeded(DeadlineExceeded(late)),
                }
            }
        }
    }

    pub(crate) fn call_timeout(
        origin: Origin,
        waited: Duration,
        ran: Duration,
        timeout: Duration,
    ) -> Self {
        let timeout = CallTimeout {
            origin,
            waited: nanos(waited),
            ran: nanos(ran),
            timeout: nanos(timeout),
        };
        Self::CallTimeout(timeout)
    }
}

/// Whose call it was.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) partition: &'static Partition,
    pub(crate) function: Option<&'static Function>,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.partition.name())?;
        match self.function {
            Some(function) => write!(f, " in {}", function.path()),
            None => Ok(()),
        }
    }
}

/// [`Load`] in the space that an error has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmallLoad {
    pub(crate) in_flight: u32,
    pub(crate) max: u32,
    pub(crate) waiting: u32,
    mean_ms: u32,
}

impl SmallLoad {
    fn retry_after(self) -> Duration {
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
#[error("`{}` is full: {} of {} permits in flight{}", .origin.partition.name(), .load.in_flight, .load.max, Queue(self))]
pub struct BulkheadFull {
    origin: Origin,
    load: SmallLoad,
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

    /// Calls that may wait.
    #[must_use]
    pub fn queue(&self) -> u32 {
        self.origin.partition.policy().queue()
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
struct Late {
    origin: Origin,
    waited: u64,
    load: SmallLoad,
}

/// A call that waited for its whole `wait`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` timed out after {:?} in the queue (`wait`): {}", self.partition(), self.waited(), Crowd(&self.0.load))]
pub struct WaitTimeout(Late);

impl WaitTimeout {
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

/// A call whose deadline passed before its body could start.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` was not entered by its deadline, after {:?} in the queue: {}", self.partition(), self.waited(), Crowd(&self.0.load))]
pub struct DeadlineExceeded(Late);

impl DeadlineExceeded {
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

/// A call that came to a closed partition, or waited when it was closed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{}` is closed", .origin.partition.name())]
pub struct Closed {
    origin: Origin,
    load: SmallLoad,
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
    origin: Origin,
    waited: u64,
    ran: u64,
    timeout: u64,
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

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_and_can_go_anywhere() {
        fn anywhere<
            T: std::error::Error + Clone + Send + Sync + std::panic::UnwindSafe + 'static,
        >() {
        }
        anywhere::<BulkheadError>();
        assert!(
            size_of::<BulkheadError>() <= 48,
            "{} bytes",
            size_of::<BulkheadError>()
        );
    }

    #[test]
    fn the_hint_is_the_time_until_the_queue_has_moved_on() {
        let hint = |mean_ms, waiting, max| {
            SmallLoad {
                in_flight: max,
                max,
                waiting,
                mean_ms,
            }
            .retry_after()
            .as_millis()
        };
        assert_eq!(hint(8_000, 9, 20), 4_000);
        assert_eq!(hint(0, 0, 4), 1_000, "never sooner than a second");
        assert_eq!(
            hint(u32::MAX, u32::MAX, 1),
            30_000,
            "never later than half a minute"
        );
    }
}
