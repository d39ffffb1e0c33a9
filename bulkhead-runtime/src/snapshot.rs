//! Every count of a partition at one moment.

use std::iter::Sum;
use std::time::Duration;

use crate::admission::Tally;
use crate::aftermath::{self, Aftermath};
use crate::breaker::{Breaker, BreakerSnapshot};
use crate::mode::Mode;
use crate::outcome::Outcomes;
use crate::partition::Live;
use crate::retry::{Fallbacks, Retries};

/// Every count of a partition at one moment.
///
/// When nothing moves, these hold:
///
/// * `started = waiting + granted + admitted + rejected.total() + abandoned`
/// * `admitted = in_flight + outcomes.total()`
/// * `in_flight + granted ≤ max` and `waiting ≤ queue`, in the mode [`Enforce`](Mode::Enforce); after a change to
///   fewer, and back from another mode, they only fall until it holds
/// * `headroom = max − in_flight − granted`, or 0
///
/// `started` and `admitted` are the sums of their parts and not counted apart: a call costs no more
/// than it must. A call that is tried again is counted for each of its attempts. While calls begin and end,
/// the counts of `outcomes` and `rejected` only rise; a sum may be off by the calls that end at that moment,
/// and so may fall. Export `outcomes`, `rejected`, `retries` and `fallbacks` as counters. Calls
/// that end while the partition is [`Off`](Mode::Off) are in neither sum any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of the partition.
    pub name: &'static str,
    /// The crate that declares it; empty for one that [`register`](crate::register) made.
    pub crate_name: &'static str,
    /// Permits that there are: those of the policy, or as [`resize`](crate::Partition::resize) or
    /// [`configure`](crate::configure) has said since.
    pub max: u64,
    /// Calls that may wait, as the policy or [`configure`](crate::configure) says.
    pub queue: u64,
    /// The longest time in the queue, for those that come now; zero when there is none.
    pub wait: Duration,
    /// Bodies that run.
    pub in_flight: u64,
    /// Permits handed to waiters that have not claimed them yet.
    pub granted: u64,
    /// Calls that wait.
    pub waiting: u64,
    /// Permits left.
    pub headroom: u64,
    /// The most permits that were in use at once, granted ones included, since the last
    /// [`take_snapshot`](crate::Partition::take_snapshot).
    pub highest_in_flight: u64,
    /// The most calls that waited at once, since then.
    pub highest_waiting: u64,
    /// Whether it rejects.
    pub mode: Mode,
    /// Whether it is closed, for all [calls](crate::Partition::close) or for those
    /// [from outside](crate::Partition::drain).
    pub is_closed: bool,
    /// Whether it is closed for newcomers only, and open for nested calls of what is under way: it
    /// [drains](crate::Partition::drain).
    pub is_draining: bool,
    /// Its breaker, if it has one, a moment later than the rest. Those of functions are among
    /// [`Partition::breakers`](crate::Partition::breakers).
    pub breaker: Option<BreakerSnapshot>,
    /// Calls that ever came.
    pub started: u64,
    /// Bodies that ever started.
    pub admitted: u64,
    /// Callers that left while they waited.
    pub abandoned: u64,
    /// Calls whose body never started, by reason.
    pub rejected: Rejected,
    /// Calls that ran in the mode [`Observe`](Mode::Observe) and would have been rejected when they came.
    pub would_reject: u64,
    /// Calls that ran in the mode [`Observe`](Mode::Observe) and would have waited. How many of them would have
    /// waited for too long, nobody can tell who lets them run.
    pub would_wait: u64,
    /// How the admitted calls ended.
    pub outcomes: Outcomes,
    /// Calls that wait to try again, without a permit.
    pub backing_off: u64,
    /// What became of the attempts after a call's first. Each is also counted as what it was, like any other: the
    /// counts above are of attempts, and not of calls.
    pub retries: Retries,
    /// Calls whose fallback runs, without a permit.
    pub in_fallback: u64,
    /// What became of fallbacks.
    pub fallbacks: Fallbacks,
    /// The moving mean of the time from permit to end, queueing not included; zero before the first
    /// call that is timed has ended. Of calls that succeed one in 64 is timed, and each call that is
    /// admitted after one that did not succeed.
    pub mean_call: Duration,
}

impl Snapshot {
    /// Attempts for each call that was admitted at all: 1 where nothing was retried, and 2 where everything was, once.
    ///
    /// # Examples
    /// ```
    /// use bulkhead_runtime::{BulkheadError, bulkhead, partition};
    ///
    /// #[bulkhead(
    ///     name = "mirror", max = 1, timeout = 5ms,
    ///     retry(idempotent, attempts = 2, backoff = 1ms, when = |error| error.body_ran()),
    /// )]
    /// async fn hangs() -> Result<(), BulkheadError> {
    ///     std::future::pending().await
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// hangs().await.unwrap_err();
    /// let mirror = partition("mirror").unwrap().snapshot();
    /// assert!((mirror.attempts_per_call() - 2.0).abs() < 1e-9);
    /// # }
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio of two counts")]
    pub fn attempts_per_call(&self) -> f64 {
        match self.admitted.saturating_sub(self.retries.made) {
            0 => 1.0,
            calls => self.admitted as f64 / calls as f64,
        }
    }
}

/// Calls whose body never started, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Rejected {
    /// Neither a permit nor a place in the queue was free.
    pub full: u64,
    /// The `wait` was over.
    pub wait_timeout: u64,
    /// The deadline had passed, or came too soon.
    pub deadline: u64,
    /// A breaker was open, its own or that of the function.
    pub breaker_open: u64,
    /// The partition was closed.
    pub closed: u64,
}

impl Rejected {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.full + self.wait_timeout + self.deadline + self.breaker_open + self.closed
    }
}

impl Sum for Rejected {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            full: sum.full + one.full,
            wait_timeout: sum.wait_timeout + one.wait_timeout,
            deadline: sum.deadline + one.deadline,
            breaker_open: sum.breaker_open + one.breaker_open,
            closed: sum.closed + one.closed,
        })
    }
}

impl Snapshot {
    pub(crate) fn of(live: &Live) -> Self {
        Self::from_tally(live, &live.gate.tally())
    }

    pub(crate) fn from_tally(live: &Live, tally: &Tally) -> Self {
        let Tally {
            terms,
            highest_in_flight,
            highest_waiting,
            would_reject,
            would_wait,
            closed_since,
            is_draining,
            in_flight,
            granted,
            waiting,
            full,
            wait_timeout,
            deadline,
            breaker_open,
            closed,
            abandoned,
            outcomes,
            mean,
        } = *tally;
        let declared = live.partition.declared();
        let [max, queue] = [terms.max, terms.queue].map(u64::from);
        let [in_flight, granted, waiting] = [in_flight, granted, waiting].map(u64::from);
        let rejected = Rejected {
            full,
            wait_timeout,
            deadline,
            breaker_open,
            closed,
        };
        let aftermath = live.aftermath_if_any();
        let aftermath::Tally {
            backing_off,
            retries,
            in_fallback,
            fallbacks,
        } = aftermath.map(Aftermath::tally).unwrap_or_default();
        let admitted = in_flight + outcomes.total();
        Self {
            name: declared.name,
            crate_name: declared.crate_name(),
            max,
            queue,
            wait: terms.wait,
            in_flight,
            granted,
            waiting,
            highest_in_flight: highest_in_flight.into(),
            highest_waiting: highest_waiting.into(),
            mode: terms.mode,
            is_closed: closed_since.is_some(),
            is_draining,
            breaker: live.breaker().map(Breaker::snapshot),
            headroom: max.saturating_sub(in_flight + granted),
            started: waiting + granted + admitted + rejected.total() + abandoned,
            admitted,
            abandoned,
            rejected,
            would_reject,
            would_wait,
            outcomes,
            backing_off,
            retries,
            in_fallback,
            fallbacks,
            mean_call: mean,
        }
    }
}
