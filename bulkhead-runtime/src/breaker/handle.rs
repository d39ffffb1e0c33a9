//! A breaker as those see it that watch and operate it, and its way to the gate and to the observers.

use std::fmt;
use std::time::Duration;

use super::cell::{BreakerCell, Watch};
use super::machine::{Look, Rejected, Seen};
use super::settings::{BreakerPolicy, Settings};
use super::transition::{BreakerState, BreakerTransition};
use super::window::Totals;
use crate::admission::Operation;
use crate::function::Function;
use crate::observer;
use crate::partition::{Live, Partition};
use crate::time::Stamp;

/// The breaker of a partition, or of one function: when calls go wrong, no more are made for a while.
///
/// Declared as `breaker(…)`, at the [partition](macro@crate::partition) for the dependency or at the
/// [function](macro@crate::bulkhead) for that operation alone; then reached by [`Partition::breaker`] and
/// [`Partition::breakers`].
///
/// *Closed*, every call passes. It *opens* when too large a share of the calls in its window failed or was
/// slow, or so many in a row failed; then every call is rejected at once as
/// [`BreakerOpen`](crate::BulkheadError::BreakerOpen), and so are those that wait in the queue. After its
/// cool-down it is *half-open*: as many probes pass as successes are needed to close it, nobody queues, and
/// one failure opens it again, for longer.
///
/// # What it sees
///
/// | the call | counts as |
/// |---|---|
/// | returned with the verdict [`Success`](crate::Verdict::Success) | a success |
/// | returned with [`Failure`](crate::Verdict::Failure), panicked, or ran for its whole `timeout` or its own `deadline` | a failure |
/// | ran for `slow` or longer | slow as well |
/// | was cut short by its caller, or by a deadline that it inherited | nothing; slow, if it had run for `slow` by then |
/// | returned with [`Ignored`](crate::Verdict::Ignored), or was rejected | nothing |
/// | returned a failure, and a guarded call inside it was rejected | nothing |
/// | answered through the layer, and its body was then read slowly, to the end of its time, or not at all | what its head said; nothing where it was cut off |
///
/// So its own rejections never open it, no client can open it by leaving early, and a dependency that hangs
/// is still seen, if `slow` is less than what callers wait. Without `slow`, a call that is left after its
/// whole `timeout` is a failure.
///
/// Calls in a task that was [spawned](crate::spawn) inside are inside as well, those in a task of a plain
/// `tokio::spawn` are not. A deadline that the body has set by itself is none that the call has inherited.
///
/// While a breaker is closed and busy, and no call in its window failed or was slow, many successes that are ready in
/// their first poll read no clock. Between two results that do there are at most 255 of them, and at most one for
/// every 256 calls of the current slice, which is a tenth of the window. All of them are counted, as of the later of
/// those results. The price: a body that blocks its thread without ever waiting can be slow unnoticed, and a
/// `deadline` counts from when the body first asks for it or waits.
///
/// Results of calls that began before it opened change nothing afterwards. A probe that is dropped gives its
/// place to the next; one that outlives its `timeout` (or its own `deadline`; without both, `open_for`) has
/// failed.
///
/// Nobody overtakes those that wait, and half-open nobody queues. So the probes of a *function's* breaker do not get
/// in as long as calls of other functions wait for the permits of the same partition: it stays as it is until that
/// queue is empty for once.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::{bulkhead, partition, BreakerState, BulkheadError};
///
/// #[bulkhead(name = "rates", max = 4, timeout = 1s, breaker(consecutive = 2, open_for = 10s))]
/// async fn rates(of: &str) -> Result<u32, BulkheadError> {
///     std::future::pending().await
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// for _ in 0..2 {
///     assert!(matches!(rates("EUR").await, Err(BulkheadError::CallTimeout(_))));
/// }
/// let Err(BulkheadError::BreakerOpen(open)) = rates("EUR").await else { panic!("it is open") };
/// assert!(open.retry_after() > Some(Duration::from_secs(9)));
///
/// let rates = partition("rates").expect("declared above");
/// let breaker = rates.breakers().next().expect("declared above, too");
/// assert_eq!(breaker.state(), BreakerState::Open);
/// breaker.reset();
/// assert_eq!(breaker.state(), BreakerState::Closed);
/// # }
/// ```
pub struct Breaker {
    live: &'static Live,
    function: Option<&'static Function>,
    policy: BreakerPolicy,
    slow: Option<Duration>,
    open_for: Duration,
    operation: Operation,
    cell: BreakerCell,
}

/// A breaker at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakerSnapshot {
    /// The path of the function whose breaker it is; `None` for that of a partition.
    pub function: Option<&'static str>,
    /// What it does with calls.
    pub state: BreakerState,
    /// Calls in its window; 0 unless it is closed.
    pub calls: u64,
    /// Those of them that failed.
    pub failures: u64,
    /// Those of them that were slow; a call can be both.
    pub slow: u64,
}

impl Breaker {
    /// `number` tells its calls from those of other functions in the queue of the partition.
    pub(crate) fn new(
        live: &'static Live,
        function: Option<&'static Function>,
        policy: BreakerPolicy,
        number: u32,
    ) -> Self {
        // What a macro declares is checked while compiling; unchecked values do not come this far.
        let settings = policy.checked().unwrap_or(Settings::DEFAULT);
        Self {
            live,
            function,
            policy,
            slow: settings.slow(),
            open_for: settings.open_for(),
            operation: Operation(number),
            cell: BreakerCell::new(settings),
        }
    }

    /// The partition whose calls it watches.
    #[must_use]
    pub fn partition(&self) -> &'static Partition {
        self.live.partition
    }

    /// The path of the function whose breaker it is; `None` for that of a partition.
    #[must_use]
    pub fn function(&self) -> Option<&'static str> {
        self.function.map(Function::path)
    }

    /// What it was declared with.
    #[must_use]
    pub fn policy(&self) -> &BreakerPolicy {
        &self.policy
    }

    /// What it does with calls. A cool-down ends with the first call that comes after it; until then the breaker is
    /// open.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        self.cell.snapshot().0
    }

    /// Its state, and the calls in its window.
    #[must_use]
    pub fn snapshot(&self) -> BreakerSnapshot {
        let (state, totals) = self.cell.snapshot();
        let Totals {
            calls,
            failures,
            slow,
        } = totals;
        BreakerSnapshot {
            function: self.function(),
            state,
            calls,
            failures,
            slow,
        }
    }

    /// Lets no call pass, and rejects those that wait, until [`reset`](Self::reset) or
    /// [`disable`](Self::disable).
    pub fn force_open(&'static self) {
        self.tell(self.cell.force_open());
    }

    /// Lets every call pass and counts none, until [`reset`](Self::reset) or
    /// [`force_open`](Self::force_open).
    pub fn disable(&'static self) {
        self.tell(self.cell.disable());
    }

    /// Closes it, and forgets every call that it has counted.
    pub fn reset(&'static self) {
        self.tell(self.cell.reset());
    }

    /// Whether nothing is wrong, and calls are many: one that comes now and succeeds at once need not look at the
    /// clock.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.cell.is_calm()
    }

    /// The era, while it is closed: the ticket of a call that comes now.
    #[inline]
    pub(crate) fn closed_era(&self) -> Option<u64> {
        self.cell.closed_era()
    }

    /// Counts a success of a call that began in `era`, at no particular time; `false` if it has to be told with
    /// the time.
    #[inline]
    pub(crate) fn succeed(&self, era: u64) -> bool {
        self.cell.succeed(era)
    }

    /// The call that began in that era and is not over yet.
    pub(crate) fn watch_in(&'static self, era: u64) -> Watch<'static> {
        self.cell.watch_in(era)
    }

    /// The look before queueing: it takes nothing.
    pub(crate) fn look(&'static self) -> Look {
        let (look, moves) = self.cell.look();
        self.tell(moves);
        look
    }

    /// Taken once the call has its permit. `expires_after` is the longest time that it can run, if that is
    /// bounded.
    pub(crate) fn board(
        &'static self,
        expires_after: Option<Duration>,
    ) -> Result<Watch<'static>, Rejected> {
        let (boarded, moves) = self.cell.enter(expires_after.unwrap_or(self.open_for));
        self.tell(moves);
        boarded
    }

    /// A call that it let pass has ended.
    pub(crate) fn saw(&'static self, watch: Watch<'static>, now: Stamp, seen: Seen) {
        self.tell(watch.saw(now, seen));
    }

    pub(crate) fn slow(&self) -> Option<Duration> {
        self.slow
    }

    /// Whose places in the queue are those of its calls; `None` where all are.
    pub(crate) fn operation(&self) -> Option<Operation> {
        self.function.map(|_| self.operation)
    }

    pub(crate) fn is_of(&self, function: &Function) -> bool {
        self.function
            .is_some_and(|own| own.is_same_operation(function))
    }

    fn tell(&'static self, moves: impl IntoIterator<Item = BreakerTransition>) {
        for moved in moves {
            if matches!(moved.to, BreakerState::Open | BreakerState::ForcedOpen) {
                self.live.gate.turn_away(self.operation());
            }
            observer::breaker(self, &moved);
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("partition", &self.live.partition.name())
            .field("function", &self.function())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
