//! The end of a partition, or of all: nobody new comes in, and those that are in come to their end.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::admission::Tally;
use crate::aftermath::Aftermath;
use crate::deadline::Deadline;
use crate::idle::Waiting;
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
    /// It ends as soon as nothing of this partition is in flight or waits, for all handles of its identity, and tells
    /// what was left. A task that goes on is not waited for between two of its calls. At the deadline nobody is
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
        waiting: Waiting,
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
            waiting: Waiting::default(),
            partition: PhantomData,
        }
    }
}

impl Future for Drain<'_> {
    type Output = Drained;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Drained> {
        let this = self.project();
        // Before the look.
        this.waiting.wake(cx.waker());
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

/// How a drain has ended.
#[derive(Debug, Clone)]
#[must_use = "it says whether calls were left"]
pub struct Drained {
    left: Vec<Left>,
    began: Instant,
    ended: Instant,
    /// Something is left of what is still closed.
    goes_on: bool,
}

/// What was left of a partition at the end of a [drain](Partition::drain).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Left {
    /// Which one.
    pub partition: &'static Partition,
    /// Bodies that run.
    pub in_flight: u64,
    /// Calls that wait, or that were granted a permit and have not begun.
    pub waiting: u64,
    /// Calls that back off before another attempt.
    pub backing_off: u64,
    /// Calls whose fallback runs; a call on its way from an attempt to what comes next may be among them.
    pub in_fallback: u64,
    /// Of those in flight the ones that settle, the oldest first: their callers may have left long ago.
    pub settling: Vec<Unsettled>,
    /// Since when nobody comes in from outside: each of these calls has been under way for longer, or is part of
    /// one that has. The beginning of the first drain, if there was another; or of the
    /// [`close`](Partition::close) before it.
    pub since: Instant,
}

/// A body that [settles](macro@crate::bulkhead#settle) and has not ended.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unsettled {
    /// The path of its function.
    pub function: &'static str,
    /// When it started.
    pub since: Instant,
}

impl Drained {
    /// What it would tell if it ended now. Waited for is what this tells: two looks can see different things.
    fn now(lives: &[&'static Live], began: Instant) -> Self {
        let mut drained = Self {
            left: Vec::new(),
            began,
            ended: time::now(),
            goes_on: false,
        };
        for live in lives.iter().filter(|live| !live.is_idle()) {
            let tally = live.gate.tally();
            let left = Left::of(live, &tally, began);
            if left.calls() > 0 {
                drained.goes_on |= tally.closed_since.is_some();
                drained.left.push(left);
            }
        }
        let order = |left: &Left| registry::identity(left.partition);
        drained.left.sort_by_key(order);
        drained
    }

    /// Whether nothing was left.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// What was left, each partition once, in the order of [`partitions`](crate::partitions).
    #[must_use]
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// How long it took, from when it was called.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.ended.saturating_duration_since(self.began)
    }
}

impl Left {
    fn of(live: &'static Live, tally: &Tally, began: Instant) -> Self {
        let aftermath = live.aftermath_if_any();
        let seen = aftermath.map(Aftermath::seen).unwrap_or_default();
        let settling = aftermath.map(Aftermath::settling).unwrap_or_default();
        let settling = settling.into_iter().map(|(function, since)| Unsettled {
            function: function.path(),
            since,
        });
        let mut left = Self {
            partition: live.partition,
            in_flight: tally.in_flight.into(),
            waiting: u64::from(tally.granted) + u64::from(tally.waiting),
            backing_off: seen.backing_off,
            in_fallback: seen.in_fallback,
            settling: settling.collect(),
            // It may have been reopened.
            since: tally.closed_since.unwrap_or(began),
        };
        if left.calls() == 0 {
            // It moved between the looks: counted where such a call may be.
            left.in_fallback = aftermath.map_or(0, Aftermath::under_way);
        }
        left
    }

    fn calls(&self) -> u64 {
        self.in_flight + self.waiting + self.backing_off + self.in_fallback
    }

    /// Each function with how many of its bodies settle, and since when the oldest of them runs.
    fn settling_by_function(&self) -> Vec<(&'static str, u64, Instant)> {
        let mut functions: Vec<(&str, u64, Instant)> = Vec::new();
        for Unsettled { function, since } in &self.settling {
            match functions.iter_mut().find(|known| known.0 == *function) {
                Some((_, calls, _)) => *calls += 1,
                None => functions.push((function, 1, *since)),
            }
        }
        functions
    }

    /// What of it there is any of.
    fn parts(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let parts = [
            (self.in_flight, "in flight"),
            (self.waiting, "waiting"),
            (self.backing_off, "backing off"),
            (self.in_fallback, "in a fallback"),
        ];
        parts.into_iter().filter(|(calls, _)| *calls > 0)
    }
}

/// A line for a log, with the numbers.
impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = Millis(self.took());
        if self.is_complete() {
            return write!(f, "drained in {took}");
        }
        let calls: u64 = self.left.iter().map(Left::calls).sum();
        let plural = if calls == 1 { "" } else { "s" };
        write!(f, "{calls} call{plural} left after {took}")?;
        for (at, left) in self.left.iter().enumerate() {
            let before = if at == 0 { ": " } else { "; " };
            write!(f, "{before}`{}`: ", left.partition.name())?;
            for (at, (calls, what)) in left.parts().enumerate() {
                let before = if at == 0 { "" } else { " and " };
                write!(f, "{before}{calls} {what}")?;
            }
            let time_since = |since| Millis(self.ended.saturating_duration_since(since));
            write!(f, ", closed for {}", time_since(left.since))?;
            for (at, (function, calls, oldest)) in left.settling_by_function().iter().enumerate() {
                let before = if at == 0 { ", settling: " } else { ", " };
                let time = time_since(*oldest);
                write!(f, "{before}{calls} of `{function}` for up to {time}")?;
            }
        }
        Ok(())
    }
}

/// Nobody reads more of it.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX) {
            0 => f.write_str("0ms"),
            millis => write!(f, "{:?}", Duration::from_millis(millis)),
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
