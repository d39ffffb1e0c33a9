//! The body and what bounds it: the part that every kind of call shares.

mod calm;
mod limit;
mod settled;
mod stays;

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

pub(super) use calm::Calm;
pub(super) use limit::Limit;
pub(super) use settled::SettlingAttempt;
pub(super) use stays::PlainAttempt;

use super::attempt::{Attempt, Start};
use super::entering;
use super::side::{Alone, Breakers, Side, Watched};
use crate::admission::{Entry, Flight, Passage, Rejection, Waited};
use crate::error::{BulkheadError, Origin};
use crate::frame::{self, Alive, Ended, Held, Setter};
use crate::function::Function;
use crate::observer::{self, Traced};
use crate::outcome::{Outcome, Verdict};
use crate::partition::Live;
use crate::time::{self, Instant, Timer};

/// Rejects: makes the error and tells of it.
///
/// A retry that is rejected is not noted for the calls around it: its caller sees the failure before it, and so do they.
#[cold]
pub(super) fn reject(
    live: &'static Live,
    origin: Origin,
    attempt: Attempt,
    rejection: Rejection,
) -> BulkheadError {
    if attempt.is_retry() {
        live.aftermath().retry_rejected();
    } else {
        Ended::note_rejected();
    }
    let holder = live.holder().and_then(|held| held.function);
    let error = BulkheadError::rejected(origin, rejection, holder);
    observer::rejected(live, &error);
    error
}

/// Polls a body that is in flight; `Err` means that it is not ready, and the flight goes on.
///
/// However the poll ends, what remains of the body is gone before its permit is free, its span is closed, and
/// `told` has heard of it: after an end, and after a panic as well.
#[inline]
pub(super) fn poll_body<F: Future, T, U: Unwinds>(
    body: Pin<&mut Option<F>>,
    (mut flight, traced): (Flight<'static>, Traced),
    told: &mut U,
    verdict: impl FnOnce(&F::Output) -> Verdict,
    end: impl FnOnce(F::Output, Verdict, Flight<'static>, &mut U) -> T,
    cx: &mut Context<'_>,
) -> Result<T, (Flight<'static>, Traced)> {
    flight.means(Outcome::Panicked);
    let mut told = Unwinding {
        told,
        is_over: false,
    };
    // Behind the flight, and so dropped before it.
    let mut body = Remains(Some(body));
    let polled = traced.around(|| {
        let _permit = frame::hold_permit();
        body.running().poll(cx)
    });
    match polled {
        Poll::Ready(output) => {
            let verdict = verdict(&output);
            // Here and not at the end of the scope: a value that is being returned would be lost if
            // this panicked (rust-lang/rust#47949), and with it whatever it holds.
            drop(body);
            traced.close();
            told.is_over = true;
            Ok(end(output, verdict, flight, told.told))
        }
        Poll::Pending => {
            told.is_over = true;
            flight.means(Outcome::Cancelled);
            body.0 = None;
            Err((flight, traced))
        }
    }
}

/// Who hears of a poll that unwinds, before the permit is free.
pub(super) trait Unwinds {
    fn unwound(&mut self);
}

/// Nobody.
impl Unwinds for Alone {
    #[inline]
    fn unwound(&mut self) {}
}

struct Unwinding<'u, U: Unwinds> {
    told: &'u mut U,
    is_over: bool,
}

impl<U: Unwinds> Drop for Unwinding<'_, U> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_over {
            self.told.unwound();
        }
    }
}

/// How most calls end: the permit is back the moment the body is done.
#[inline]
pub(super) fn give_back<R, S: Side>(
    returned: R,
    verdict: Verdict,
    mut flight: Flight<'static>,
    side: &mut S,
) -> R {
    // Before the permit is free, so that whoever is admitted on it meets a breaker that has seen this.
    side.end(verdict.into());
    flight.means(verdict.into());
    returned
}

/// A body that is polled: what is left of it when the poll has ended, or unwound, is dropped.
struct Remains<'b, F>(Option<Pin<&'b mut Option<F>>>);

impl<F> Remains<'_, F> {
    #[inline]
    fn running(&mut self) -> Pin<&mut F> {
        let body = self.0.as_mut().and_then(|body| body.as_mut().as_pin_mut());
        body.expect("a body is there until it has ended")
    }
}

impl<F> Drop for Remains<'_, F> {
    #[inline]
    fn drop(&mut self) {
        if let Some(body) = &mut self.0 {
            body.set(None);
        }
    }
}

pin_project! {
    /// A call that may have to wait, whose body may be bounded in time, and that breakers may watch.
    ///
    /// The body stands before the stage: fields drop in order, and a cancelled body must be gone
    /// before its permit is free. So does the side: a breaker hears of a call before its permit is.
    #[derive(Debug)]
    pub(crate) struct Run<F, S> {
        #[pin]
        body: Option<F>,
        #[pin]
        timer: Timer,
        side: S,
        stage: Stage,
        // Gone when the call is over: so tasks that were spawned inside know whether its permit is still held.
        alive: Option<Alive>,
    }
}

/// | stage | owns | moves to |
/// |---|---|---|
/// | entering | perhaps a place in the queue | running, over |
/// | running | the permit | over |
/// | over | nothing | — |
#[derive(Debug)]
enum Stage {
    Entering(Entry<'static>),
    Running(Running),
    Over,
}

#[derive(Debug)]
struct Running {
    /// Away only while the body is polled, as the flight is. Stands before it: fields drop in order, and the span
    /// closes before the permit is free.
    traced: Traced,
    /// Away only while the body is polled.
    flight: Option<Flight<'static>>,
    /// Set where there is a timeout or a deadline.
    began: Option<Instant>,
    waited: Option<Waited>,
}

/// What bounds a call, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) live: &'static Live,
    pub(crate) origin: Origin,
    pub(crate) timeout: Option<Duration>,
}

impl Terms {
    /// Those of any other call, which has nothing of its own but perhaps a timeout.
    pub(crate) fn of(live: &'static Live, timeout: Option<Duration>) -> Self {
        let origin = Origin {
            partition: live.partition,
            function: None,
        };
        Self {
            live,
            origin,
            timeout,
        }
    }

    /// Those of an annotated function.
    #[inline]
    pub(super) fn of_function(function: &'static Function) -> Self {
        let live = function.live();
        Self {
            live,
            origin: function.origin(live),
            timeout: function.timeout(),
        }
    }

    /// Those of the operation, and of the partition.
    #[inline]
    pub(super) fn breakers(&self) -> Breakers {
        let operation = self.origin.function;
        [
            operation.and_then(|function| function.breaker(self.live)),
            self.live.breaker(),
        ]
    }

    /// What a nested call has to know: only where it could wait for this one.
    #[inline]
    pub(super) fn held(&self) -> Option<Held> {
        (self.live.gate.queue() > 0).then_some(Held {
            live: self.live,
            function: self.origin.function,
        })
    }
}

impl<F: Future> Run<F, Watched> {
    /// The rest of a first poll that has parked the body: it waits for its time to be over.
    #[cold]
    pub(super) fn poll_parked(
        self: Pin<&mut Self>,
        terms: Terms,
        by: Option<(Instant, Setter)>,
        cx: &mut Context<'_>,
    ) -> Poll<BulkheadError> {
        let _set = by.map(|(by, setter)| frame::set(by, setter));
        let this = self.project();
        let Stage::Running(running) = this.stage else {
            unreachable!("a body that is parked runs")
        };
        let limit = ready!(Limit::poll(
            this.timer,
            terms.timeout,
            running,
            this.side,
            cx
        ));
        Poll::Ready(limit.stop(&terms, this.body, this.side, this.stage))
    }

    /// Notes which attempt it is, before its first poll.
    pub(super) fn start(self: Pin<&mut Self>, start: Start) {
        self.project().side.start(start);
    }

    /// Notes the longest time that it can run, and the deadline that it has set by itself.
    pub(super) fn bounds(
        self: Pin<&mut Self>,
        longest: Option<Duration>,
        own: Option<(Instant, Setter)>,
    ) {
        self.project().side.bounds(longest, own);
    }
}

impl<F: Future, S: Side> Run<F, S> {
    pub(crate) fn new(body: F) -> Self {
        Self {
            body: Some(body),
            timer: Timer::default(),
            side: S::default(),
            stage: Stage::Entering(Entry::default()),
            alive: None,
        }
    }

    /// One that has its permit, and has not been polled.
    fn admitted_already(body: F, side: S, running: Running) -> Self {
        Self {
            body: Some(body),
            timer: Timer::default(),
            side,
            stage: Stage::Running(running),
            alive: None,
        }
    }

    /// The same as [`poll`](Self::poll), for those that have to know what was made of the returned value.
    pub(super) fn poll_judged(
        self: Pin<&mut Self>,
        terms: Terms,
        verdict: impl FnOnce(&F::Output) -> Verdict,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(F::Output, Verdict), BulkheadError>> {
        let end = |returned, verdict, flight, side: &mut S| {
            (give_back(returned, verdict, flight, side), verdict)
        };
        self.poll_to(terms, verdict, end, cx)
    }

    #[inline]
    pub(super) fn poll(
        self: Pin<&mut Self>,
        terms: Terms,
        verdict: impl FnOnce(&F::Output) -> Verdict,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, BulkheadError>> {
        self.poll_to(terms, verdict, give_back, cx)
    }

    /// `end` decides what becomes of the permit when the body is done, and of what stands beside it.
    #[inline]
    pub(crate) fn poll_to<T>(
        self: Pin<&mut Self>,
        terms: Terms,
        verdict: impl FnOnce(&F::Output) -> Verdict,
        end: impl FnOnce(F::Output, Verdict, Flight<'static>, &mut S) -> T,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, BulkheadError>> {
        let mut this = self.project();
        if let Stage::Entering(entry) = this.stage {
            let timer = this.timer.as_mut();
            let attempt = this.side.attempt();
            let may_queue = !attempt.is_retry();
            let entered = entering::poll(entry, this.side, &terms, None, may_queue, timer, cx);
            match ready!(entered) {
                Ok(passage) => {
                    attempt.admitted(terms.live);
                    let is_bounded = terms.timeout.is_some()
                        || frame::is_due() && frame::left_unasked().is_none();
                    let began = this.side.began();
                    let traced = Traced::begin(terms.origin, passage.waited, attempt.number());
                    let running = Running::begin(passage, traced, began, is_bounded);
                    *this.stage = Stage::Running(running);
                }
                Err(rejection) => {
                    *this.stage = Stage::Over;
                    this.body.set(None);
                    let error = reject(terms.live, terms.origin, attempt, rejection);
                    return Poll::Ready(Err(error));
                }
            }
        }
        let Stage::Running(running) = this.stage else {
            panic!("polled again after it had ended")
        };
        let flight = running
            .flight
            .take()
            .expect("polled again after it had ended, in a panic");
        let in_flight = (flight, mem::take(&mut running.traced));
        let mut polling = Polling::begin(this.side);
        let end = |output, verdict, flight, polling: &mut Polling<'_, S>| {
            end(output, verdict, flight, polling.side())
        };
        let body = this.body.as_mut();
        let held = terms.held();
        let held = held.map(|held| frame::hold(held, this.alive.take()));
        let polled = poll_body(body, in_flight, &mut polling, verdict, end, cx);
        if let Some(held) = held {
            *this.alive = held.end().filter(|_| polled.is_err());
        }
        polling.side();
        match polled {
            Ok(output) => {
                *this.stage = Stage::Over;
                return Poll::Ready(Ok(output));
            }
            // Before the timer is armed: outside a runtime that panics.
            Err((flight, traced)) => {
                running.flight = Some(flight);
                running.traced = traced;
            }
        }
        let limit = ready!(Limit::poll(
            this.timer,
            terms.timeout,
            running,
            this.side,
            cx
        ));
        *this.alive = None;
        Poll::Ready(Err(limit.stop(&terms, this.body, this.side, this.stage)))
    }
}

/// A poll of the body: what ends inside it is noted, and if it unwinds the call has panicked.
struct Polling<'s, S: Side> {
    side: &'s mut S,
    /// Until that is noted.
    before: Option<Ended>,
}

impl<'s, S: Side> Polling<'s, S> {
    #[inline]
    fn begin(side: &'s mut S) -> Self {
        Self {
            before: side.listens().then(Ended::listen),
            side,
        }
    }

    #[inline]
    fn side(&mut self) -> &mut S {
        if let Some(before) = self.before.take() {
            self.side.note_inside(before);
        }
        self.side
    }
}

impl<S: Side> Unwinds for Polling<'_, S> {
    #[inline]
    fn unwound(&mut self) {
        self.side().end(Outcome::Panicked);
    }
}

impl Running {
    /// `began` if somebody has read the clock already.
    #[inline]
    fn begin(
        passage: Passage<'static>,
        traced: Traced,
        began: Option<Instant>,
        is_bounded: bool,
    ) -> Self {
        let claimed = || passage.waited.map_or_else(time::now, |waited| waited.until);
        Self {
            traced,
            began: began.or_else(|| is_bounded.then(claimed)),
            flight: Some(passage.flight),
            waited: passage.waited,
        }
    }
}
