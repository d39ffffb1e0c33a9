//! The end of a partition, or of all: nobody new comes in, and those that are in come to their end.

mod report;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

pub use report::{Drained, Left, SettlingBody};

use crate::deadline::Deadline;
use crate::idle::Onlooker;
use crate::observer;
use crate::partition::{Live, Partition};
use crate::registry;
use crate::time::{self, Instant, Timer};

impl Partition {
    /// Lets no call in from outside any more, and waits until those under way have ended, or until `deadline`.
    ///
    /// The partition is closed by this call, and not by the first poll: newcomers, and those that wait, are rejected as
    /// [`Closed`](crate::BulkheadError::Closed). Calls in flight go on, and so do those that were granted a permit. What
    /// they call inside is still let in, also where it has to wait: that is every guarded call that is polled inside
    /// one that has a permit, of this partition or of another, and every one in a task of theirs that was made with
    /// [`spawn`](crate::spawn). A plain `tokio::spawn` is outside, and so is what is called beside a permit that is
    /// held by hand. Nobody tries again any more, not even a nested call: a call that backs off ends at once with the
    /// error that it had, or its fallback answers.
    ///
    /// Where other partitions stay open, what their new calls make in this one is let in as well, and it may not come to
    /// rest. [`close`](Self::close) it first then: it is closed for all, and this waits.
    ///
    /// It ends as soon as nothing of this partition is in flight, waits or is in its fallback, for all handles of its
    /// identity, and tells what was left. A task that goes on is not waited for between two of its calls. At the deadline nobody is
    /// stopped: that is for whoever reads the report. A duration is a deadline so long from now; one of zero closes,
    /// and tells at once what is under way.
    ///
    /// A second drain is none: nobody is turned away or told of twice, and it waits for the same calls. On a partition
    /// that is [closed](Self::close) it only waits; closed meanwhile, nested calls are turned away as well. When it is
    /// [reopened](Self::reopen), that ends at once and tells what is under way.
    ///
    /// Called inside a guarded call of the same partition, it waits for that one too, and so until the deadline.
    ///
    /// # Panics
    /// When it has to wait outside a tokio runtime with time enabled.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the partition closed, and changes nothing else.
    ///
    /// # Examples
    /// ```
    /// # use std::time::Duration;
    /// # use bulkhead_runtime::{bulkhead, partition, BulkheadError};
    /// #[bulkhead(name = "orders", max = 4)]
    /// async fn order(number: u64) -> Result<u64, BulkheadError> {
    ///     tokio::time::sleep(Duration::from_millis(200)).await;
    ///     Ok(number)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let orders = partition("orders").expect("it is declared above");
    /// let under_way = tokio::spawn(order(1));
    /// tokio::task::yield_now().await;
    ///
    /// let drained = orders.drain(Duration::from_secs(3)).await;
    /// assert!(drained.is_complete());
    /// assert_eq!(drained.to_string(), "drained in 200ms");
    /// assert_eq!(under_way.await.unwrap().unwrap(), 1);
    /// assert!(matches!(order(2).await, Err(BulkheadError::Closed(_))));
    /// # }
    /// ```
    pub fn drain(&self, deadline: impl Into<Deadline>) -> Drain<'_> {
        let (began, deadline) = (time::now(), deadline.into());
        let live = self.live();
        begin(live);
        Drain::new(Whose::One, vec![live], began, deadline)
    }
}

/// Drains all partitions of the program, as [`Partition::drain`] does one: all are closed first, and then they are
/// waited for at the same time.
///
/// One that is [registered](crate::register) later drains from its beginning, until it is reopened itself; no
/// [`Event`](crate::Event) tells of that.
///
/// It belongs near the end of `main`, *behind* the graceful shutdown of the server: a request whose handler has no
/// permit itself comes from outside with each of its calls, and needs the partitions open. What comes after that is
/// work of requests that the server did not wait for, or of tasks of your own.
///
/// Under `test::isolate` it is only about the states that are isolated.
///
/// # Panics
/// When it has to wait outside a tokio runtime with time enabled.
///
/// # Cancel safety
/// Dropping the future leaves all partitions closed, and changes nothing else.
///
/// # Examples
/// ```
/// # use std::time::Duration;
/// use bulkhead_runtime::{drain_all, partition, Partition};
///
/// #[partition(name = "nightly", max = 2)]
/// static NIGHTLY: Partition;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), bulkhead_runtime::BulkheadError> {
/// let hangs = NIGHTLY.try_enter()?;
/// let drained = drain_all(Duration::from_secs(3)).await;
/// assert!(!drained.is_complete());
/// assert_eq!(drained.to_string(), "1 call left after 3s: `nightly`: 1 in flight, closed for 3s");
/// # drop(hangs);
/// # Ok(()) }
/// ```
pub fn drain_all(deadline: impl Into<Deadline>) -> Drain<'static> {
    let (began, deadline) = (time::now(), deadline.into());
    let lives = registry::drain_from_now_on();
    for live in &lives {
        begin(live);
    }
    Drain::new(Whose::All, lives, began, deadline)
}

fn begin(live: &'static Live) {
    if live.gate.drain() {
        live.end_backoffs();
        observer::closed(live);
    }
}

pin_project! {
    /// Waits until what is under way has ended; made by [`Partition::drain`] and [`drain_all`], which have its panics
    /// and its cancel safety.
    #[must_use = "it is closed already; await this to wait for what is under way"]
    pub struct Drain<'p> {
        whose: Whose,
        lives: Vec<&'static Live>,
        began: Instant,
        deadline: Instant,
        #[pin]
        timer: Timer,
        onlooker: Onlooker,
        partition: PhantomData<&'p Partition>,
    }
}

/// Of which partitions it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    One,
    /// Those that are made meanwhile included.
    All,
}

impl Drain<'_> {
    fn new(whose: Whose, lives: Vec<&'static Live>, began: Instant, deadline: Deadline) -> Self {
        Self {
            whose,
            lives,
            began,
            // Nearer to the end of the clock, tokio's timers panic.
            deadline: deadline.instant().min(time::after(began, Duration::MAX)),
            timer: Timer::default(),
            onlooker: Onlooker::default(),
            partition: PhantomData,
        }
    }
}

impl Future for Drain<'_> {
    type Output = Drained;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Drained> {
        let this = self.project();
        // Before the look.
        this.onlooker.watch(cx.waker());
        if *this.whose == Whose::All {
            add_those_made_since(this.lives);
        }
        let mut timer = this.timer;
        loop {
            // Somebody may wait, or have a permit, who is not polled any more.
            let next = this.lives.iter().filter_map(|live| live.gate.clear()).min();
            let drained = Drained::now(this.lives, *this.began);
            if !drained.goes_on || *this.deadline <= drained.ended {
                return Poll::Ready(drained);
            }
            let until = next.map_or(*this.deadline, |next| next.min(*this.deadline));
            ready!(timer.as_mut().poll_until(until, cx));
        }
    }
}

/// Isolated states are those of a thread: on another, there are those that all share, and they are open.
fn add_those_made_since(lives: &mut Vec<&'static Live>) {
    for live in registry::lives() {
        let is_known = |known: &&'static Live| std::ptr::eq(*known, live);
        if live.gate.is_closed() && !lives.iter().any(is_known) {
            lives.push(live);
        }
    }
}

impl fmt::Debug for Drain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("partitions", &self.lives.len())
            .finish_non_exhaustive()
    }
}
