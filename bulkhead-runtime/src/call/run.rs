//! The body and what bounds it: the part that every kind of call shares.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::admission::{Entry, Flight, Passage, Patience, Rejection, Waited};
use crate::error::{BulkheadError, Origin};
use crate::observer;
use crate::outcome::{Outcome, Verdict};
use crate::partition::Live;
use crate::time::{self, Instant, Timer};

/// Rejects: makes the error and tells of it.
#[cold]
pub(super) fn reject(live: &'static Live, origin: Origin, rejection: Rejection) -> BulkheadError {
    let error = BulkheadError::rejected(origin, rejection);
    observer::rejected(live, &error);
    error
}

/// Polls a body that is in flight; `Err` means that it is not ready, and the flight goes on.
///
/// However the poll ends, what remains of the body is gone before its permit is free: after an end,
/// and after a panic as well.
#[inline]
pub(super) fn poll_body<F: Future, T>(
    body: Pin<&mut Option<F>>,
    mut flight: Flight<'static>,
    verdict: impl FnOnce(&F::Output) -> Verdict,
    end: impl FnOnce(F::Output, Verdict, Flight<'static>) -> T,
    cx: &mut Context<'_>,
) -> Result<T, Flight<'static>> {
    flight.means(Outcome::Panicked);
    // Behind the flight, and so dropped before it.
    let mut body = Remains(Some(body));
    match body.running().poll(cx) {
        Poll::Ready(output) => {
            let verdict = verdict(&output);
            // Here and not at the end of the scope: a value that is being returned would be lost if
            // this panicked (rust-lang/rust#47949), and with it whatever it holds.
            drop(body);
            Ok(end(output, verdict, flight))
        }
        Poll::Pending => {
            flight.means(Outcome::Cancelled);
            body.0 = None;
            Err(flight)
        }
    }
}

/// How most calls end: the permit is back the moment the body is done.
#[inline]
pub(super) fn give_back<R>(returned: R, verdict: Verdict, mut flight: Flight<'static>) -> R {
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
    /// A call that may have to wait, and whose body may be bounded in time.
    ///
    /// The body stands before the stage: fields drop in order, and a cancelled body must be gone
    /// before its permit is free.
    #[derive(Debug)]
    pub(crate) struct Run<F> {
        #[pin]
        body: Option<F>,
        #[pin]
        timer: Timer,
        stage: Stage,
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
    /// Away only while the body is polled.
    flight: Option<Flight<'static>>,
    /// Set where there is a timeout.
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

impl<F: Future> Run<F> {
    pub(crate) fn new(body: F) -> Self {
        Self {
            body: Some(body),
            timer: Timer::default(),
            stage: Stage::Entering(Entry::default()),
        }
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

    /// `end` decides what becomes of the permit when the body is done.
    #[inline]
    pub(crate) fn poll_to<T>(
        self: Pin<&mut Self>,
        terms: Terms,
        verdict: impl FnOnce(&F::Output) -> Verdict,
        end: impl FnOnce(F::Output, Verdict, Flight<'static>) -> T,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, BulkheadError>> {
        let mut this = self.project();
        if let Stage::Entering(entry) = this.stage {
            match ready!(entry.poll(&terms.live.gate, Patience::Wait, this.timer.as_mut(), cx)) {
                Ok(passage) => *this.stage = Stage::Running(Running::begin(passage, terms.timeout)),
                Err(rejection) => {
                    *this.stage = Stage::Over;
                    this.body.set(None);
                    return Poll::Ready(Err(reject(terms.live, terms.origin, rejection)));
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
        match poll_body(this.body.as_mut(), flight, verdict, end, cx) {
            Ok(output) => {
                *this.stage = Stage::Over;
                return Poll::Ready(Ok(output));
            }
            // Before the timer is armed: outside a runtime that panics.
            Err(flight) => running.flight = Some(flight),
        }
        let (Some(timeout), Some(began)) = (terms.timeout, running.began) else {
            return Poll::Pending;
        };
        ready!(this.timer.poll_until(time::after(began, timeout), cx));
        let ran = time::now().saturating_duration_since(began);
        let waited = running.waited.map_or(Duration::ZERO, Waited::time);
        // A local, so that the permit is back even if the body's destructor panics.
        let mut flight = running.flight.take().expect("put back in the lines above");
        flight.means(Outcome::TimedOut);
        *this.stage = Stage::Over;
        this.body.set(None);
        drop(flight);
        let error = BulkheadError::call_timeout(terms.origin, waited, ran, timeout);
        observer::timed_out(terms.live, &error);
        Poll::Ready(Err(error))
    }
}

impl Running {
    #[inline]
    fn begin(passage: Passage<'static>, timeout: Option<Duration>) -> Self {
        let claimed = || passage.waited.map_or_else(time::now, |waited| waited.until);
        let began = timeout.map(|_| claimed());
        Self {
            flight: Some(passage.flight),
            began,
            waited: passage.waited,
        }
    }
}
