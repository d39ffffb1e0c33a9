//! A named partition: a thin handle that constants may read, and behind it what changes.

mod ongoing;

use std::fmt;
use std::future::Future;

use once_cell::race::OnceRef;
use tokio::time::Instant;

pub(crate) use ongoing::Ongoing;

use crate::admission::{Gate, Saturation, Watcher};
use crate::aftermath::Aftermath;
use crate::breaker::{Breaker, BreakerPolicy};
use crate::call::{Call, Enter, Permit};
use crate::error::BulkheadError;
use crate::frame::{self, Held};
use crate::function::{self, Function};
use crate::idle;
use crate::mode::Mode;
use crate::observer;
#[cfg(feature = "tracing")]
use crate::observer::Sampling;
use crate::policy::{Policy, PolicyError};
use crate::registry;
use crate::snapshot::Snapshot;
use crate::sync::StaticMutex;

/// One named partition: its permits, its queue, its counts.
///
/// Declare one with [`#[partition]`](macro@crate::partition) on a static, or let
/// [`#[bulkhead]`](macro@crate::bulkhead) declare one for its function; for a partition that only
/// configuration knows there is [`register`](crate::register).
///
/// The static is a handle of fixed values, so a constant may read its [policy](Self::policy). Permits
/// and counts belong to its identity, which is its crate and its name: all handles of one identity
/// share them. Crates of one name are one crate here: the library and the binary of a package, and two
/// versions of a crate in one program.
///
/// # Examples
/// ```
/// use bulkhead_runtime::{partition, Partition};
///
/// #[partition(name = "export", max = 2)]
/// static EXPORT: Partition;
///
/// let first = EXPORT.try_enter()?;
/// let second = EXPORT.try_enter()?;
/// let error = EXPORT.try_enter().unwrap_err();
/// assert_eq!(error.to_string(), "`export` is full: 2 of 2 permits in flight and no queue");
///
/// drop(first);
/// assert!(EXPORT.try_enter().is_ok());
/// # Ok::<(), bulkhead_runtime::BulkheadError>(())
/// ```
pub struct Partition {
    declared: Declared,
    state: &'static State,
}

/// What a declaration fixes. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros builds it"
)]
pub struct Declared {
    pub name: &'static str,
    pub module: &'static str,
    pub file: &'static str,
    pub line: u32,
    pub column: u32,
    pub policy: Policy,
}

/// The way from a handle to its identity, found once. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug)]
pub struct State(OnceRef<'static, Live>);

/// What all handles of one identity share.
pub(crate) struct Live {
    /// The first declaration, by file and line; its policy holds.
    pub(crate) partition: &'static Partition,
    pub(crate) gate: Gate,
    breaker: OnceRef<'static, Breaker>,
    operations: OnceRef<'static, Operations>,
    /// Made when a call first needs it.
    aftermath: OnceRef<'static, Aftermath>,
    #[cfg(feature = "tracing")]
    pub(crate) sampling: Sampling,
}

/// The breakers of functions; grows when one of them is first called or asked for.
type Operations = StaticMutex<Vec<&'static Breaker>>;

/// Nothing of the user's runs while it changes, so a panic leaves nothing half-done behind it.
impl std::panic::RefUnwindSafe for State {}

impl State {
    /// Not yet resolved.
    #[expect(clippy::new_without_default, reason = "only ever written in a static")]
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceRef::new())
    }

    /// What was found, once it was.
    #[inline]
    pub(crate) fn live(&self) -> Option<&'static Live> {
        self.0.get()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.partition.name()).finish()
    }
}

impl Live {
    /// A fresh state, which lives as long as the program; those that listen have it in view from here on. Where all
    /// drain, it drains too.
    pub(crate) fn make(partition: &'static Partition, drains: bool) -> &'static Self {
        let live: &'static Self = Box::leak(Box::new(Self {
            partition,
            gate: Gate::new(partition.declared.policy, partition),
            breaker: OnceRef::new(),
            operations: OnceRef::new(),
            aftermath: OnceRef::new(),
            #[cfg(feature = "tracing")]
            sampling: Sampling::default(),
        }));
        if let Some(policy) = partition.declared.policy.breaker() {
            live.breaker
                .get_or_init(|| Box::leak(Box::new(Breaker::new(live, None, policy, 0))));
        }
        observer::keep_in_view(live);
        if drains {
            live.gate.drain_unseen();
        }
        live
    }

    /// The call around this one, where that holds a permit that this one could wait for.
    #[inline]
    pub(crate) fn holder(&self) -> Option<Held> {
        if self.gate.queue() == 0 {
            return None;
        }
        frame::holder(&self.gate)
    }

    /// Whether nothing of it is under way.
    ///
    /// A call that holds no permit, because it backs off or is in its fallback, is under way all the same: it is counted
    /// from before its first permit on.
    pub(crate) fn is_idle(&self) -> bool {
        self.gate.is_empty() && self.aftermath_if_any().is_none_or(Aftermath::is_idle)
    }

    /// Something of it has ended that is not in the gate. Whoever waits for the last one looks again; no lock may be
    /// held.
    pub(crate) fn may_be_idle(&self) {
        if self.gate.is_closed() && self.is_idle() {
            idle::look_again();
        }
    }

    /// That of the partition.
    #[inline]
    pub(crate) fn breaker(&self) -> Option<&'static Breaker> {
        self.breaker.get()
    }

    /// What its calls do without a permit.
    pub(crate) fn aftermath(&'static self) -> &'static Aftermath {
        self.aftermath_if_any().unwrap_or_else(|| {
            let make = || -> &'static Aftermath {
                Box::leak(Box::new(Aftermath::new(self.partition.policy())))
            };
            self.aftermath.get_or_init(make)
        })
    }

    /// The same, if any call has needed it.
    pub(crate) fn aftermath_if_any(&self) -> Option<&'static Aftermath> {
        self.aftermath.get()
    }

    /// It was closed: those that back off shall see that.
    pub(crate) fn end_backoffs(&self) {
        if let Some(aftermath) = self.aftermath_if_any() {
            aftermath.wake_sleepers();
        }
    }

    /// That of a function; made when it is first asked for.
    pub(crate) fn operation(
        &'static self,
        function: &'static Function,
        policy: BreakerPolicy,
    ) -> &'static Breaker {
        let none = || -> &'static Operations { Box::leak(Box::new(StaticMutex::new(Vec::new()))) };
        let mut operations = self.operations.get_or_init(none).lock();
        if let Some(known) = operations.iter().find(|known| known.is_of(function)) {
            return known;
        }
        let number = u32::try_from(operations.len() + 1).unwrap_or(u32::MAX);
        let breaker: &'static Breaker =
            Box::leak(Box::new(Breaker::new(self, Some(function), policy, number)));
        operations.push(breaker);
        breaker
    }
}

impl Watcher for Partition {
    fn saturation(&'static self, saturation: Saturation) {
        observer::saturation(self, saturation);
    }

    fn emptied(&'static self) {
        idle::look_again();
    }
}

impl Partition {
    pub(crate) const fn declare(declared: Declared, state: &'static State) -> Self {
        Self { declared, state }
    }

    /// Its label in errors, metrics and events.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.declared.name
    }

    /// What it was declared with.
    ///
    /// Where two declarations of one identity differ, which [`verify`](crate::verify) reports, the
    /// policy that holds is that of the first by file and line.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.declared.policy
    }

    /// Takes a permit, waiting in the queue for at most the policy's `wait`.
    ///
    /// Those that wait are served first come, first served; nobody overtakes them. A call that does
    /// not fit is rejected in its first poll, without a timer.
    ///
    /// The permit counts as a success when it is dropped, unless [`Permit::finish`] says otherwise.
    ///
    /// # Errors
    /// [`Full`](BulkheadError::Full) when neither a permit nor a place in the queue is free,
    /// [`WaitTimeout`](BulkheadError::WaitTimeout) when the wait is over,
    /// [`DeadlineExceeded`](BulkheadError::DeadlineExceeded) when the [`Deadline`](crate::Deadline) that holds here
    /// comes first, [`BreakerOpen`](BulkheadError::BreakerOpen), and [`Closed`](BulkheadError::Closed).
    ///
    /// # Panics
    /// When it has to wait outside a tokio runtime with time enabled. Room and rejection need none.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the queue; a permit that it was granted goes to the next.
    ///
    /// A future that was granted a permit and is not polled any more, as can happen in a `select!`
    /// over a reference, loses it once its `wait` is over: to the call that waits behind it, or to the next
    /// one that enters, ends or gives up. Where a call between them has left, the one behind may notice
    /// only at the time at which that one would have been late. The same holds for its place in the queue; only when the queue is
    /// full of such futures and nothing else, newcomers are rejected until a permit comes back.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, Partition, Verdict};
    /// #[partition(name = "thumbnails", max = 4)]
    /// static THUMBNAILS: Partition;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), bulkhead_runtime::BulkheadError> {
    /// let permit = THUMBNAILS.enter().await?;
    /// // … the work …
    /// permit.finish(Verdict::Failure);
    /// assert_eq!(THUMBNAILS.snapshot().outcomes.failure, 1);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn enter(&self) -> Enter<'_> {
        Enter::new(self, None)
    }

    /// Takes a permit, waiting in the queue until `deadline`.
    ///
    /// For a worker that waits *before* it pulls a job, and so has nothing better to do: the deadline
    /// stands in the place of the policy's `wait`. The queue stays as short as it is; a partition
    /// without one rejects at once.
    ///
    /// # Errors
    /// [`Full`](BulkheadError::Full), [`DeadlineExceeded`](BulkheadError::DeadlineExceeded) when the
    /// deadline, or the one that holds here, comes first or has already passed,
    /// [`BreakerOpen`](BulkheadError::BreakerOpen), and [`Closed`](BulkheadError::Closed).
    ///
    /// # Panics
    /// As [`enter`](Self::enter).
    ///
    /// # Cancel safety
    /// As [`enter`](Self::enter).
    ///
    /// # Examples
    /// ```
    /// # use std::time::Duration;
    /// # use bulkhead_runtime::{partition, Partition};
    /// # use tokio::time::Instant;
    /// #[partition(name = "jobs", max = 2, queue = 4, wait = 25ms)]
    /// static JOBS: Partition;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), bulkhead_runtime::BulkheadError> {
    /// let permit = JOBS.enter_by(Instant::now() + Duration::from_secs(30)).await?;
    /// // Only now is a job taken off the list of jobs: it will not lie here waiting.
    /// # drop(permit);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn enter_by(&self, deadline: Instant) -> Enter<'_> {
        Enter::new(self, Some(deadline))
    }

    /// Takes a permit if one is free and nobody waits for it. Needs no runtime.
    ///
    /// # Errors
    /// [`Full`](BulkheadError::Full), [`DeadlineExceeded`](BulkheadError::DeadlineExceeded),
    /// [`BreakerOpen`](BulkheadError::BreakerOpen) and [`Closed`](BulkheadError::Closed).
    #[inline]
    pub fn try_enter(&self) -> Result<Permit<'_>, BulkheadError> {
        Permit::try_take(self)
    }

    /// Runs `future` with a permit: waits, times and counts as an annotated function does.
    ///
    /// Nothing is counted before the first poll. See [`Call`] for a timeout and for what a returned
    /// value means; unless told, every value counts as a success. Under a breaker, give it a timeout: without one, a
    /// hang is only seen by `slow`, once its caller has left.
    ///
    /// # Errors
    /// As [`enter`](Self::enter), [`CallTimeout`](BulkheadError::CallTimeout), and
    /// [`DeadlineExceeded`](BulkheadError::DeadlineExceeded) when the [`Deadline`](crate::Deadline) that holds here
    /// passes while `future` runs.
    ///
    /// # Panics
    /// As [`enter`](Self::enter), and when a timeout has to be armed outside a tokio runtime.
    ///
    /// # Cancel safety
    /// Dropping the call drops `future` and then gives back the permit: abandoned while it waits,
    /// cancelled while it runs.
    ///
    /// # Examples
    /// ```
    /// # use std::time::Duration;
    /// # use bulkhead_runtime::{partition, BulkheadError, Partition, Verdict};
    /// #[partition(name = "search", max = 8, queue = 8, wait = 20ms)]
    /// static SEARCH: Partition;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BulkheadError> {
    /// let hits = SEARCH
    ///     .call(async { Ok::<_, std::io::Error>(vec!["a", "b"]) })
    ///     .timeout(Duration::from_millis(200))
    ///     .classify(|hits| if hits.is_ok() { Verdict::Success } else { Verdict::Failure })
    ///     .await?;
    /// # assert_eq!(hits.unwrap().len(), 2);
    /// # assert_eq!(SEARCH.snapshot().outcomes.success, 1);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn call<F: Future>(&self, future: F) -> Call<'_, F> {
        Call::new(self, future)
    }

    /// Runs blocking work on tokio's blocking threads, with a permit that moves along.
    ///
    /// The permit is held until the work is done, even when the caller has left: a thread cannot be
    /// stopped, and what it uses is used. The work counts as a success unless it panics.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    ///
    /// # Panics
    /// With the panic of `work`; outside a tokio runtime; and when the runtime shuts down before the
    /// work began.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it leaves the queue. Dropped while the work runs, the work goes on and
    /// keeps its permit to its end.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, Partition};
    /// #[partition(name = "hashing", max = 2)]
    /// static HASHING: Partition;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), bulkhead_runtime::BulkheadError> {
    /// let digest = HASHING.run_blocking(|| (0..1_000_u64).sum::<u64>()).await?;
    /// assert_eq!(digest, 499_500);
    /// # Ok(()) }
    /// ```
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BulkheadError> {
        crate::call::run_blocking(self, work).await
    }

    /// Changes the number of permits, 1 to [`MAX_PERMITS`](crate::MAX_PERMITS), for all handles of its
    /// identity.
    ///
    /// More of them go at once to those that wait. Fewer take effect as permits come back: nobody is
    /// waited for and nobody is stopped, and nobody is admitted until fewer than `max` are in flight. Until
    /// then a share of a dependency that others have taken over is in use twice.
    /// The [policy](Self::policy) stays what was declared; [`Snapshot::max`] is what holds.
    ///
    /// # Errors
    /// When `max` is out of range, when the `reserve` would not be below it, when `per_key` would be above
    /// it, and when it grows and the partitions of its [`Dependency`](crate::Dependency) would take more than
    /// that can; then nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, Partition};
    /// #[partition(name = "resized", max = 1)]
    /// static RESIZED: Partition;
    ///
    /// RESIZED.resize(2)?;
    /// let both = (RESIZED.try_enter().unwrap(), RESIZED.try_enter().unwrap());
    /// RESIZED.resize(1)?;
    /// drop(both.0);
    /// assert!(RESIZED.try_enter().is_err(), "one is still in flight");
    /// # Ok::<(), bulkhead_runtime::PolicyError>(())
    /// ```
    pub fn resize(&self, max: u32) -> Result<(), PolicyError> {
        registry::resize(self.live(), max)
    }

    /// Lets no call in until [`reopen`](Self::reopen): newcomers, and those that wait, are rejected as
    /// [`Closed`](BulkheadError::Closed). Calls in flight, and those that were granted a permit, go on. Nobody tries again
    /// any more: a call that backs off ends at once with the error that it had, or its fallback answers.
    ///
    /// Closing twice is closing once. After a [`drain`](Self::drain), which leaves nested calls a way in, it closes for
    /// those too.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, BulkheadError, Partition};
    /// #[partition(name = "switched", max = 1)]
    /// static SWITCHED: Partition;
    ///
    /// SWITCHED.close();
    /// assert!(matches!(SWITCHED.try_enter(), Err(BulkheadError::Closed(_))));
    /// SWITCHED.reopen();
    /// assert!(SWITCHED.try_enter().is_ok());
    /// ```
    pub fn close(&self) {
        let live = self.live();
        if live.gate.close() {
            live.end_backoffs();
            observer::closed(live);
        }
    }

    /// Lets calls in again after [`close`](Self::close) or [`drain`](Self::drain).
    pub fn reopen(&self) {
        let live = self.live();
        if live.gate.reopen() {
            observer::reopened(live);
            // Nobody need wait for the last one any more.
            idle::look_again();
        }
    }

    /// Every count of its identity, at one moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.live())
    }

    /// The same, and from here on [`highest_in_flight`](Snapshot::highest_in_flight) and
    /// [`highest_waiting`](Snapshot::highest_waiting) are those since now.
    ///
    /// For the one that looks at regular times, such as an exporter of metrics: a peak between two of its
    /// looks is not lost. [`snapshot`](Self::snapshot) is for everybody else.
    #[must_use = "the highest numbers since the last look are told once"]
    pub fn take_snapshot(&self) -> Snapshot {
        let live = self.live();
        Snapshot::from_tally(live, &live.gate.tally_and_restart())
    }

    /// The breaker of the partition, if its policy has one. Those of functions are among
    /// [`breakers`](Self::breakers).
    #[must_use]
    pub fn breaker(&self) -> Option<&'static Breaker> {
        self.live().breaker()
    }

    /// Every breaker that stands before its permits: its own first, then those of functions, by path.
    ///
    /// They are there before the first call.
    pub fn breakers(&self) -> impl Iterator<Item = &'static Breaker> + use<> {
        let live = self.live();
        let own = registry::identity(live.partition);
        let mut functions: Vec<_> = function::operations()
            .filter(|function| registry::identity(function.partition()) == own)
            .filter_map(|function| function.breaker(live))
            .collect();
        functions.sort_by_key(|breaker| (breaker.function(), std::ptr::from_ref(*breaker).addr()));
        functions.dedup_by(|one, other| std::ptr::eq(*one, *other));
        live.breaker().into_iter().chain(functions)
    }

    /// Says whether it rejects, for all handles of its identity, from now on.
    ///
    /// Calls that wait when a mode begins that rejects nobody are let in at once, if their `wait` is not over
    /// when they look. Back in
    /// [`Enforce`](Mode::Enforce), nobody is admitted until fewer than `max` are in flight. Calls that end
    /// while it is [`Off`](Mode::Off) are not counted, also if they began before.
    ///
    /// Above 2,097,151 calls in flight every mode rejects.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, Mode, Partition};
    /// #[partition(name = "suspected", max = 1)]
    /// static SUSPECTED: Partition;
    ///
    /// SUSPECTED.mode(Mode::Observe);
    /// let both = (SUSPECTED.try_enter()?, SUSPECTED.try_enter()?);
    /// assert_eq!(SUSPECTED.snapshot().would_reject, 1);
    ///
    /// SUSPECTED.mode(Mode::Enforce);
    /// drop(both.0);
    /// assert!(SUSPECTED.try_enter().is_err(), "one is still in flight");
    /// # Ok::<(), bulkhead_runtime::BulkheadError>(())
    /// ```
    pub fn mode(&self, mode: Mode) {
        let Live { gate, .. } = self.live();
        gate.change(|terms| terms.mode = mode);
        gate.hand_over();
    }

    /// What its identity shares; found on first use.
    #[inline]
    pub(crate) fn live(&self) -> &'static Live {
        #[cfg(feature = "test-util")]
        if let Some(isolated) = crate::test::isolated(self) {
            return isolated;
        }
        self.state.live().unwrap_or_else(|| self.resolve())
    }

    #[cold]
    fn resolve(&self) -> &'static Live {
        self.state.0.get_or_init(|| registry::live(self))
    }

    pub(crate) const fn state(&self) -> &'static State {
        self.state
    }

    pub(crate) const fn declared(&self) -> &Declared {
        &self.declared
    }

    /// The same handle once more, for a declaration that link-time registration does not know.
    pub(crate) const fn copy(&self) -> Self {
        Self {
            declared: self.declared,
            state: self.state,
        }
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition")
            .field("name", &self.declared.name)
            .field("crate", &self.declared.crate_name())
            .field("policy", &self.declared.policy)
            .finish_non_exhaustive()
    }
}

impl Declared {
    /// The first segment of the module path.
    pub(crate) fn crate_name(&self) -> &'static str {
        Self::crate_of(self.module)
    }

    /// The first segment of a module path.
    pub(crate) fn crate_of(module: &'static str) -> &'static str {
        let first = module.split("::").next().unwrap_or(module);
        first.trim_start_matches("r#")
    }

    /// The order in which the first declaration is found: file, line and column; and, for those that one
    /// macro call makes in one place, the smaller policy.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        let Self { policy, .. } = self;
        let policy = (policy.max(), policy.queue(), policy.wait(), policy.status());
        (self.file, self.line, self.column, policy)
    }
}
