//! What the expansion of `#[bulkhead]` calls: one static for the function, one future around its body.
//!
//! There are three futures, so that no function pays for what it does not use: [`Guarded`] needs no place for a
//! timer or in a queue, [`TimedGuarded`] has both, and [`ContractGuarded`] is watched by breakers as well.

use std::fmt;
use std::future::Future;
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::answer::{Answer, Ask};
use super::attempt::Attempt;
use super::contract::ContractGuarded;
use super::run::{Limit, Run, Terms, give_back, poll_body, reject};
use super::side::Alone;
use crate::admission::{Flight, Rejection};
use crate::error::BulkheadError;
use crate::frame::{self, Ended};
use crate::function::Function;
use crate::observer::{self, Traced};
use crate::outcome::Outcome;
use crate::partition::Live;
use crate::time::{self, Instant, Timer};

/// Guards a body that only the deadline of its caller can bound: on a partition without a queue and without a
/// breaker, with no timeout.
#[inline]
pub fn guard<F, J>(function: &'static Function, body: F, judge: J) -> Guarded<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    Guarded {
        body: Some(body),
        parked: Parked::default(),
        function,
        judge,
    }
}

/// Guards a body that may wait, or that has a timeout. `CONTRACT` says whether it has a `deadline`, a `margin`
/// or a breaker as well: those that have none of these are no larger for it.
#[inline]
pub fn guard_timed<const CONTRACT: bool, F, J>(
    function: &'static Function,
    body: F,
    judge: J,
) -> <Contract<CONTRACT> as Guards<F, J>>::Guarded
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
    Contract<CONTRACT>: Guards<F, J>,
{
    Contract::<CONTRACT>::guard(function, body, judge)
}

/// See [`guard_timed`].
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct Contract<const IS_ONE: bool>;

/// Which future guards a body.
#[doc(hidden)]
pub trait Guards<F: Future, J> {
    type Guarded: Future<Output = F::Output>;

    fn guard(function: &'static Function, body: F, judge: J) -> Self::Guarded;
}

impl<F, J> Guards<F, J> for Contract<false>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    type Guarded = TimedGuarded<F, J>;

    #[inline]
    fn guard(function: &'static Function, body: F, judge: J) -> TimedGuarded<F, J> {
        TimedGuarded {
            run: Run::new(body),
            function,
            judge,
        }
    }
}

impl<F, J> Guards<F, J> for Contract<true>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    type Guarded = ContractGuarded<F, J>;

    #[inline]
    fn guard(function: &'static Function, body: F, judge: J) -> ContractGuarded<F, J> {
        ContractGuarded::new(function, body, judge)
    }
}

/// Calls `f`. A closure that is called directly is inferred to be callable more than once, and may
/// then not give away what it captured.
#[inline]
pub fn once<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Out of line, and so is the next one: the usual call has the registers that they would take.
#[cold]
#[inline(never)]
fn enter_slowly(live: &'static Live) -> Result<Flight<'static>, Rejection> {
    live.gate.try_enter_slowly(frame::standing)
}

#[cold]
#[inline(never)]
fn enter_by(live: &'static Live, deadline: Instant) -> Result<Flight<'static>, Rejection> {
    live.gate.try_enter_by(deadline, frame::standing)
}

pin_project! {
    /// See [`guard`].
    #[doc(hidden)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Guarded<F, J> {
        // Before the flight: fields drop in order, and a cancelled body must be gone before its
        // permit is free.
        #[pin]
        body: Option<F>,
        parked: Parked,
        function: &'static Function,
        judge: J,
    }
}

impl<F, J> Future for Guarded<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let judge = this.judge;
        let deadline = frame::deadline();
        let (parked, traced, bound) = this.parked.take();
        let in_flight = match parked {
            Some(flight) => (flight, traced),
            None if this.body.is_none() => panic!("polled again after it had ended"),
            None => {
                let live = this.function.live();
                let at_once = match deadline {
                    None => live.gate.enter_at_once(),
                    Some(_) => None,
                };
                let flight = if let Some(flight) = at_once {
                    flight
                } else {
                    let entered = match deadline {
                        None => enter_slowly(live),
                        Some(deadline) => enter_by(live, deadline),
                    };
                    let origin = this.function.origin(live);
                    match entered {
                        Ok(flight) => {
                            observer::admitted(live, origin, Duration::ZERO);
                            flight
                        }
                        Err(rejection) => {
                            this.body.set(None);
                            let error = reject(live, origin, Attempt::ONLY, rejection);
                            return Poll::Ready(judge(Ask::Reject(error)).rejected());
                        }
                    }
                };
                (
                    flight,
                    Traced::begin(this.function.origin(live), None, Attempt::ONLY.number()),
                )
            }
        };
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        match poll_body(
            this.body.as_mut(),
            in_flight,
            &mut Alone,
            verdict,
            give_back,
            cx,
        ) {
            Ok(returned) => {
                unpark(bound);
                Poll::Ready(returned)
            }
            Err((flight, traced)) => {
                // Before a timer is armed: outside a runtime that panics.
                *this.parked = Parked::new(flight, traced);
                let Some(deadline) = deadline else {
                    *this.parked.bound = bound;
                    return Poll::Pending;
                };
                // By value: what the address of a future is given to keeps it out of registers.
                match Bound::poll(bound, deadline, this.function, cx) {
                    Bounded::Goes(bound) => {
                        *this.parked.bound = Some(bound);
                        Poll::Pending
                    }
                    Bounded::Stopped(error) => {
                        let live = this.function.live();
                        // Locals, so that the permit is back even if the body's destructor panics.
                        let (parked, traced, _) = this.parked.take();
                        let mut flight = parked.expect("put there above");
                        flight.means(Outcome::TimedOut);
                        this.body.set(None);
                        traced.close();
                        drop(flight);
                        observer::timed_out(live, &error);
                        Poll::Ready(judge(Ask::Reject(error)).rejected())
                    }
                }
            }
        }
    }
}

/// The permit of a body that is parked, its span, and what bounds it if it is under a deadline.
///
/// Its drop is by hand, one look and one call: if it made that of the whole future too long to be inlined, no
/// future could live in registers any more, and every call would pay for that.
#[derive(Default)]
struct Parked {
    flight: ManuallyDrop<Option<Flight<'static>>>,
    /// Only where there is a flight.
    traced: ManuallyDrop<Traced>,
    /// Only where there is a flight.
    bound: ManuallyDrop<Option<Pin<Box<Bound>>>>,
}

impl Parked {
    #[inline]
    fn new(flight: Flight<'static>, traced: Traced) -> Self {
        Self {
            flight: ManuallyDrop::new(Some(flight)),
            traced: ManuallyDrop::new(traced),
            bound: ManuallyDrop::new(None),
        }
    }

    #[inline]
    fn take(&mut self) -> (Option<Flight<'static>>, Traced, Option<Pin<Box<Bound>>>) {
        let traced = mem::take(&mut *self.traced);
        (self.flight.take(), traced, self.bound.take())
    }
}

impl Drop for Parked {
    #[inline]
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            cancel(mem::take(&mut *self.traced), flight, self.bound.take());
        }
    }
}

#[cold]
#[inline(never)]
fn cancel(traced: Traced, flight: Flight<'static>, bound: Option<Pin<Box<Bound>>>) {
    drop((traced, flight, bound));
}

#[inline]
fn unpark(bound: Option<Pin<Box<Bound>>>) {
    #[cold]
    #[inline(never)]
    fn drop_boxed(bound: Pin<Box<Bound>>) {
        drop(bound);
    }
    if let Some(bound) = bound {
        drop_boxed(bound);
    }
}

pin_project! {
    /// What bounds a body without a timeout of its own: the deadline of the frame. In a box: a call without a
    /// deadline shall not be larger for it.
    struct Bound {
        began: Instant,
        #[pin]
        timer: Timer,
    }
}

/// What became of a parked body under a deadline.
enum Bounded {
    Goes(Pin<Box<Bound>>),
    Stopped(BulkheadError),
}

impl Bound {
    /// The time of the body counts from the end of its first poll: only a body that is parked gets here.
    #[cold]
    #[inline(never)]
    fn poll(
        bound: Option<Pin<Box<Self>>>,
        deadline: Instant,
        function: &'static Function,
        cx: &mut Context<'_>,
    ) -> Bounded {
        let mut bound = bound.unwrap_or_else(|| {
            Box::pin(Self {
                began: time::now(),
                timer: Timer::default(),
            })
        });
        let this = bound.as_mut().project();
        if this.timer.poll_until(deadline, cx).is_pending() {
            return Bounded::Goes(bound);
        }
        Ended::note_stopped(frame::setter());
        let origin = function.origin(function.live());
        Bounded::Stopped(Limit::of_deadline(deadline, *this.began).error(origin, None))
    }
}

pin_project! {
    /// See [`guard_timed`].
    #[doc(hidden)]
    #[must_use = "futures do nothing unless polled"]
    pub struct TimedGuarded<F, J> {
        #[pin]
        run: Run<F, Alone>,
        function: &'static Function,
        judge: J,
    }
}

impl<F, J> Future for TimedGuarded<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let judge = this.judge;
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        this.run
            .poll(Terms::of_function(this.function), verdict, cx)
            .map(|result| result.unwrap_or_else(|error| judge(Ask::Reject(error)).rejected()))
    }
}

impl<F, J> fmt::Debug for Guarded<F, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded")
            .field("function", &self.function.path())
            .finish_non_exhaustive()
    }
}

impl<F, J> fmt::Debug for TimedGuarded<F, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimedGuarded")
            .field("function", &self.function.path())
            .finish_non_exhaustive()
    }
}
