//! Why a call has no result: small, cheap to make, and with the numbers in it.

mod kinds;

use std::fmt;
use std::time::Duration;

pub use kinds::{BreakerOpen, BulkheadFull, CallTimeout, Closed, DeadlineExceeded, WaitTimeout};
use kinds::{Late, Progress, SmallLoad, Stopped, What};

use crate::admission::{Bound, Rejection};
use crate::function::Function;
use crate::partition::Partition;
#[cfg(feature = "http")]
use crate::policy::Policy;

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
    /// The deadline passed, before the body could start, while it ran, or in the fallback:
    /// [`body_ran`](Self::body_ran) tells.
    #[error(transparent)]
    DeadlineExceeded(DeadlineExceeded),
    /// A breaker is open; the body never ran.
    #[error(transparent)]
    BreakerOpen(BreakerOpen),
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
    /// [`BulkheadError::BreakerOpen`].
    BreakerOpen,
    /// [`BulkheadError::Closed`].
    Closed,
}

impl Reason {
    /// `full`, `wait_timeout`, `call_timeout`, `deadline_exceeded`, `breaker_open`,
    /// `closed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::WaitTimeout => "wait_timeout",
            Self::CallTimeout => "call_timeout",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BreakerOpen => "breaker_open",
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
            Self::BreakerOpen(_) => Reason::BreakerOpen,
            Self::Closed(_) => Reason::Closed,
        }
    }

    /// When it is worth trying again; `None` where waiting helps nobody.
    ///
    /// The time after which the queue will have moved on by one place more than now waits, at the
    /// mean time for which a permit was held: mean × (waiting + 1) ÷ max, at least 1 s, at most 30 s.
    /// For a breaker that is open, the time until its next probe. For a closed partition, 1 s.
    /// Callers that all wait exactly that long come back together: spread them, as the `Retry-After`
    /// of the web features does.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            // It says nothing about how long.
            Self::Closed(_) => Some(SHORTEST_RETRY_AFTER),
            Self::BreakerOpen(open) => open.retry_after(),
            // The same answer would be too late again.
            _ if self.body_ran() => None,
            _ => self.load().map(SmallLoad::retry_after),
        }
    }

    /// Whether the body ran, at least in part: if not, the call had no effect, unless its fallback had one.
    #[must_use]
    pub fn body_ran(&self) -> bool {
        match self {
            Self::CallTimeout(_) => true,
            Self::DeadlineExceeded(late) => late.body_ran(),
            _ => false,
        }
    }

    /// How full the partition was when it rejected the call.
    pub(crate) fn load(&self) -> Option<SmallLoad> {
        match self {
            Self::Full(full) => Some(full.load),
            Self::WaitTimeout(late) => Some(late.crowd()),
            Self::DeadlineExceeded(late) => late.load(),
            Self::Closed(closed) => Some(closed.load),
            Self::CallTimeout(_) | Self::BreakerOpen(_) => None,
        }
    }

    /// That of the partition.
    #[cfg(feature = "http")]
    pub(crate) fn policy(&self) -> &'static Policy {
        self.origin().partition.policy()
    }

    fn origin(&self) -> &Origin {
        match self {
            Self::Full(full) => &full.origin,
            Self::WaitTimeout(late) => late.origin(),
            Self::CallTimeout(timeout) => &timeout.origin,
            Self::DeadlineExceeded(late) => late.origin(),
            Self::BreakerOpen(open) => &open.origin,
            Self::Closed(closed) => &closed.origin,
        }
    }

    /// `holder` is the call around this one, where that is why it did not wait.
    #[inline]
    pub(crate) fn rejected(
        origin: Origin,
        rejection: Rejection,
        holder: Option<&'static Function>,
    ) -> Self {
        match rejection {
            Rejection::Closed(load) => Self::Closed(Closed {
                origin,
                load: load.into(),
            }),
            Rejection::Full(load) => Self::Full(BulkheadFull {
                origin,
                load: load.into(),
                holder,
            }),
            Rejection::Open(retry_after) => Self::BreakerOpen(BreakerOpen {
                origin,
                retry_after: retry_after.map(nanos),
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
                    Bound::Deadline => {
                        Self::DeadlineExceeded(DeadlineExceeded(Progress::Entering(late)))
                    }
                }
            }
        }
    }

    pub(crate) fn stopped_by_deadline(origin: Origin, waited: Duration, ran: Duration) -> Self {
        let stopped = Stopped::new(origin, nanos(waited), What::Body, ran);
        Self::DeadlineExceeded(DeadlineExceeded(Progress::Stopped(stopped)))
    }

    /// No answer in time, from the fallback either.
    pub(crate) fn stopped_in_fallback(origin: Origin, body_ran: bool, took: Duration) -> Self {
        let stopped = Stopped::new(origin, 0, What::Fallback { body_ran }, took);
        Self::DeadlineExceeded(DeadlineExceeded(Progress::Stopped(stopped)))
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
