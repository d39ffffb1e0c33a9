//! For the tests of those who use this crate; with the feature `test-util`, which belongs in
//! `[dev-dependencies]`.
//!
//! A test of what a handler does when its partition is full:
//!
//! ```
//! use bulkhead_runtime::{bulkhead, partition, test, BulkheadError, Reason};
//!
//! #[bulkhead(name = "quote", max = 4)]
//! async fn quote(order: u64) -> Result<u64, BulkheadError> {
//!     Ok(order)
//! }
//!
//! /// The handler under test.
//! async fn handler() -> u16 {
//!     match quote(7).await {
//!         Ok(_) => 200,
//!         Err(error) if error.reason() == Reason::Full => 503,
//!         Err(_) => 504,
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // In a `#[tokio::test]`:
//! let _isolated = test::isolate();
//! let quotes = partition("quote").expect("it is declared above");
//!
//! let full = quotes.fill();
//! assert_eq!(handler().await, 503);
//! drop(full);
//! assert_eq!(handler().await, 200);
//!
//! test::expect(quotes).is_idle().rejected(Reason::Full, 1).success(1);
//! # }
//! ```

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::call::{Enter, Permit};
use crate::error::Reason;
use crate::mode::Mode;
use crate::outcome::{Outcomes, Verdict};
use crate::partition::{Live, Partition};
use crate::registry;
use crate::snapshot::Snapshot;
use crate::time;

thread_local! {
    /// One for each [`isolate`] that holds on this thread.
    static ISOLATED: RefCell<Vec<Isolation>> = const { RefCell::new(Vec::new()) };
}

/// The states of this thread's partitions, and what was configured of dependencies.
#[derive(Default)]
struct Isolation {
    lives: Vec<&'static Live>,
    replicas: Vec<(&'static str, &'static str, u32)>,
    /// Whether what is made from now on drains.
    drains: bool,
}

/// Gives every partition a fresh state on this thread, until what it returns is dropped.
///
/// Permits, waiters, counts, and what was resized, configured, closed or drained: the tests of one process do not
/// disturb one another. The policies are those that were declared.
///
/// **What it covers** is code that runs on this thread: a `#[tokio::test]` and everything that it spawns, as
/// long as its runtime is the single-threaded one, which is the default. **What it does not cover** is code
/// on other threads, which meets the states that all share: a multi-threaded runtime, `std::thread::spawn`,
/// the work inside `spawn_blocking`. A permit that was taken on this thread may be given back on any. What
/// [`register`](crate::register) makes is there for all, with a fresh state.
///
/// [Observers](crate::Observer) are those of the whole process: they hear of isolated states, too, and of other tests.
///
/// The states are small, and are leaked.
#[must_use = "the isolation ends when this is dropped; bind it to a name"]
pub fn isolate() -> Isolated {
    let depth = ISOLATED.with_borrow_mut(|isolated| {
        isolated.push(Isolation::default());
        isolated.len()
    });
    Isolated {
        depth,
        not_send: PhantomData,
    }
}

/// See [`isolate`].
///
/// # Panics
/// Its drop does, when one that was made later still holds: the last one is to be dropped first.
#[derive(Debug)]
pub struct Isolated {
    depth: usize,
    not_send: PhantomData<*const ()>,
}

impl Drop for Isolated {
    fn drop(&mut self) {
        // At the end of a thread they may be gone already.
        let order = ISOLATED.try_with(|isolated| {
            let mut isolated = isolated.borrow_mut();
            let is_last = isolated.len() == self.depth;
            isolated.truncate(self.depth.saturating_sub(1));
            is_last
        });
        assert!(
            order.unwrap_or(true) || std::thread::panicking(),
            "an isolation ends before one that was made after it: drop the last one first"
        );
    }
}

/// Whether an isolation holds on this thread.
pub(crate) fn is_isolated() -> bool {
    ISOLATED
        .try_with(|isolated| !isolated.borrow().is_empty())
        .unwrap_or(false)
}

/// The replicas of a dependency in the isolation that holds, if they were configured in it.
pub(crate) fn isolated_replicas(of: (&str, &str)) -> Option<u32> {
    ISOLATED.with_borrow(|isolated| {
        let Isolation { replicas, .. } = isolated.last()?;
        let found = replicas
            .iter()
            .find(|(krate, name, _)| (*krate, *name) == of);
        found.map(|(.., replicas)| *replicas)
    })
}

/// Keeps what was configured on this thread; `false` where nothing is isolated.
pub(crate) fn isolate_replicas(of: (&'static str, &'static str), configured: u32) -> bool {
    ISOLATED.with_borrow_mut(|isolated| {
        let Some(Isolation { replicas, .. }) = isolated.last_mut() else {
            return false;
        };
        replicas.retain(|(krate, name, _)| (*krate, *name) != of);
        replicas.push((of.0, of.1, configured));
        true
    })
}

/// The states that there are in the isolation that holds.
pub(crate) fn isolated_lives() -> Option<Vec<&'static Live>> {
    ISOLATED
        .try_with(|isolated| Some(isolated.borrow().last()?.lives.clone()))
        .ok()
        .flatten()
}

/// Has what is made on this thread from now on drain; `false` where nothing is isolated.
pub(crate) fn drain_from_now_on() -> bool {
    ISOLATED.with_borrow_mut(|isolated| match isolated.last_mut() {
        Some(isolation) => {
            isolation.drains = true;
            true
        }
        None => false,
    })
}

/// The state of a partition on this thread, if it is isolated.
pub(crate) fn isolated(partition: &Partition) -> Option<&'static Live> {
    ISOLATED
        .try_with(|isolated| {
            let mut isolated = isolated.borrow_mut();
            let Isolation {
                lives: states,
                drains,
                ..
            } = isolated.last_mut()?;
            let is_meant =
                |live: &&&Live| registry::identity(live.partition) == registry::identity(partition);
            if let Some(live) = states.iter().find(is_meant) {
                return Some(*live);
            }
            let live = Live::make(registry::first(partition), *drains);
            states.push(live);
            Some(live)
        })
        .ok()
        .flatten()
}

/// A partition that is full; available with the feature `test-util`.
impl Partition {
    /// Takes every permit that is free, and every place in the queue, until what it returns is dropped.
    ///
    /// The next call is rejected as full. The permits count as [ignored](Verdict::Ignored) when they come
    /// back, and the places as abandoned. A call that was in flight before gives its permit to one of these
    /// places when it ends: the partition stays full, with a place in the queue left.
    ///
    /// # Panics
    /// When the partition is closed or does not [enforce](crate::Mode::Enforce), since then it is never full; and
    /// when there is a queue, outside a tokio runtime with time enabled.
    #[track_caller]
    pub fn fill(&self) -> Filled<'_> {
        let Snapshot {
            mode, is_closed, ..
        } = self.snapshot();
        assert!(
            mode == Mode::Enforce && !is_closed,
            "`{}` cannot be filled: it is {}, and never full",
            self.name(),
            if is_closed { "closed" } else { mode.as_str() }
        );
        let mut filled = Filled {
            places: Vec::new(),
            permits: Vec::new(),
        };
        // As many as there are, and not until a rejection: that would be counted.
        let Snapshot {
            headroom, waiting, ..
        } = self.snapshot();
        let free = if waiting == 0 { headroom } else { 0 };
        filled.permits = (0..free).map_while(|_| self.try_enter().ok()).collect();
        let Snapshot { queue, waiting, .. } = self.snapshot();
        let free = queue.saturating_sub(waiting);
        filled.places = (0..free).map_while(|_| self.take_place()).collect();
        filled
    }

    fn take_place(&self) -> Option<Pin<Box<Enter<'_>>>> {
        let until = time::after(time::now(), Duration::MAX);
        let mut place = Box::pin(self.enter_by(until));
        match place.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Some(place),
            Poll::Ready(_) => None,
        }
    }
}

/// What [`Partition::fill`] holds.
#[derive(Debug)]
#[must_use = "the permits are back when this is dropped; bind it to a name"]
pub struct Filled<'p> {
    /// Before the permits: a permit that comes back shall not go on to one of these.
    places: Vec<Pin<Box<Enter<'p>>>>,
    permits: Vec<Permit<'p>>,
}

impl Filled<'_> {
    /// Permits that it holds.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits.len()
    }

    /// Places in the queue that it holds.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        self.places.clear();
        for permit in self.permits.drain(..) {
            permit.finish(Verdict::Ignored);
        }
    }
}

/// Looks at a partition; what it is asked then has to be so, or it panics and shows every count.
pub fn expect(partition: &Partition) -> Expect {
    Expect(partition.snapshot())
}

/// A [`Snapshot`] with expectations of it. Each of them panics when it is not met.
#[must_use = "it expects nothing until it is asked"]
#[derive(Debug, Clone)]
pub struct Expect(Snapshot);

impl Expect {
    /// Nothing is in flight, nobody waits, backs off or is in a fallback, and every permit is back.
    ///
    /// # Panics
    /// When it is not so.
    #[track_caller]
    pub fn is_idle(&self) -> &Self {
        let Snapshot { max, .. } = self.0;
        self.in_flight(0).waiting(0).headroom(max);
        self.is("backing off", self.0.backing_off, 0);
        self.is("in a fallback", self.0.in_fallback, 0)
    }

    /// So many bodies run, or are about to: granted permits count.
    ///
    /// # Panics
    /// When there is another number of bodies that run, or of permits that were granted and are not claimed.
    #[track_caller]
    pub fn in_flight(&self, expected: u64) -> &Self {
        self.is("in flight", self.0.in_flight + self.0.granted, expected)
    }

    /// So many calls wait.
    ///
    /// # Panics
    /// When there is another number of calls that wait.
    #[track_caller]
    pub fn waiting(&self, expected: u64) -> &Self {
        self.is("waiting", self.0.waiting, expected)
    }

    /// So many permits are left.
    ///
    /// # Panics
    /// When there is another number of permits left.
    #[track_caller]
    pub fn headroom(&self, expected: u64) -> &Self {
        self.is("left as headroom", self.0.headroom, expected)
    }

    /// So many calls ended for `reason`: rejected for it, or for a call timeout, out of time.
    ///
    /// # Panics
    /// When there is another number of calls that were rejected for `reason`, or, for a call timeout, that
    /// ran out of time.
    #[track_caller]
    pub fn rejected(&self, reason: Reason, expected: u64) -> &Self {
        let Snapshot {
            rejected, outcomes, ..
        } = &self.0;
        let found = match reason {
            Reason::Full => rejected.full,
            Reason::WaitTimeout => rejected.wait_timeout,
            Reason::DeadlineExceeded => rejected.deadline,
            Reason::BreakerOpen => rejected.breaker_open,
            Reason::Closed => rejected.closed,
            Reason::CallTimeout => outcomes.timed_out,
        };
        self.is(&format!("ended as {reason}"), found, expected)
    }

    /// So many attempts after the first of their call started.
    ///
    /// # Panics
    /// When there is another number of them.
    #[track_caller]
    pub fn retried(&self, expected: u64) -> &Self {
        self.is("retried", self.0.retries.made, expected)
    }

    /// So many calls were answered by their fallback.
    ///
    /// # Panics
    /// When there is another number of them.
    #[track_caller]
    pub fn answered_by_fallback(&self, expected: u64) -> &Self {
        self.is(
            "answered by their fallback",
            self.0.fallbacks.answered,
            expected,
        )
    }

    /// No call was rejected.
    ///
    /// # Panics
    /// When any call was rejected.
    #[track_caller]
    pub fn nothing_rejected(&self) -> &Self {
        self.is("rejected", self.0.rejected.total(), 0)
    }

    /// So many calls ended as a success.
    ///
    /// # Panics
    /// When there is another number of calls whose verdict was success.
    #[track_caller]
    pub fn success(&self, expected: u64) -> &Self {
        self.is("ended in success", self.0.outcomes.success, expected)
    }

    /// So many calls ended with the verdict ignored.
    ///
    /// # Panics
    /// When there is another number of them.
    #[track_caller]
    pub fn ignored(&self, expected: u64) -> &Self {
        self.is("ignored", self.0.outcomes.ignored, expected)
    }

    /// So many callers left while they waited.
    ///
    /// # Panics
    /// When there is another number of them.
    #[track_caller]
    pub fn abandoned(&self, expected: u64) -> &Self {
        self.is("abandoned", self.0.abandoned, expected)
    }

    /// So many calls ended as a failure.
    ///
    /// # Panics
    /// When there is another number of calls whose verdict was failure.
    #[track_caller]
    pub fn failure(&self, expected: u64) -> &Self {
        self.is("ended in failure", self.0.outcomes.failure, expected)
    }

    /// So many callers left while their call ran.
    ///
    /// # Panics
    /// When there is another number of calls whose caller left while they ran.
    #[track_caller]
    pub fn cancelled(&self, expected: u64) -> &Self {
        self.is("cancelled", self.0.outcomes.cancelled, expected)
    }

    /// So many bodies panicked.
    ///
    /// # Panics
    /// When there is another number of calls whose body panicked.
    #[track_caller]
    pub fn panicked(&self, expected: u64) -> &Self {
        self.is("panicked", self.0.outcomes.panicked, expected)
    }

    #[track_caller]
    fn is(&self, what: &str, found: u64, expected: u64) -> &Self {
        assert!(
            found == expected,
            "`{}`: expected {expected} {what}, found {found}\n{}",
            self.0.name,
            Counts(&self.0)
        );
        self
    }
}

/// All that a failed expectation shows.
struct Counts<'s>(&'s Snapshot);

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Snapshot {
            max,
            queue,
            in_flight,
            granted,
            waiting,
            abandoned,
            rejected,
            outcomes,
            backing_off,
            retries,
            in_fallback,
            fallbacks,
            ..
        } = self.0;
        let Outcomes {
            success,
            failure,
            ignored,
            timed_out,
            panicked,
            cancelled,
        } = outcomes;
        writeln!(
            f,
            "  permits   {in_flight} in flight and {granted} granted of {max}"
        )?;
        writeln!(
            f,
            "  queue     {waiting} waiting of {queue}, {abandoned} abandoned"
        )?;
        writeln!(
            f,
            "  rejected  {} full, {} wait timeout, {} deadline, {} breaker open, {} closed",
            rejected.full,
            rejected.wait_timeout,
            rejected.deadline,
            rejected.breaker_open,
            rejected.closed
        )?;
        writeln!(
            f,
            "  outcomes  {success} success, {failure} failure, {ignored} ignored, {timed_out} timed out, \
             {panicked} panicked, {cancelled} cancelled"
        )?;
        writeln!(
            f,
            "  retries   {} made, {} rejected, {} given up, {} not afforded, {} without time, {backing_off} backing off",
            retries.made,
            retries.rejected,
            retries.given_up,
            retries.budget_spent,
            retries.out_of_time
        )?;
        write!(
            f,
            "  fallback  {} answered, {} unanswered, {in_fallback} under way",
            fallbacks.answered, fallbacks.unanswered
        )
    }
}
