//! What the expansion of `#[bulkhead]` calls: one static for the function, one future around its body.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::answer::{Answer, Ask};
use super::run::{Run, Terms, give_back, poll_body, reject};
use crate::admission::Flight;
use crate::function::Function;

fn terms(function: &'static Function) -> Terms {
    let live = function.live();
    Terms {
        live,
        origin: function.origin(live),
        timeout: function.timeout(),
    }
}

/// Guards a body that never waits: no queue, no timeout.
#[inline]
pub fn guard<F, J>(function: &'static Function, body: F, judge: J) -> Guarded<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    Guarded {
        body: Some(body),
        flight: None,
        function,
        judge,
    }
}

/// Guards a body that may wait, or that has a timeout. `CONTRACT` says whether it has a `deadline`, a `margin`
/// or a breaker as well.
#[inline]
pub fn guard_timed<const CONTRACT: bool, F, J>(function: &'static Function, body: F, judge: J) -> TimedGuarded<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    TimedGuarded {
        run: Run::new(body),
        function,
        judge,
    }
}

/// Calls `f`. A closure that is called directly is inferred to be callable more than once, and may
/// then not give away what it captured.
#[inline]
pub fn once<R>(f: impl FnOnce() -> R) -> R {
    f()
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
        flight: Option<Flight<'static>>,
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
        let flight = match this.flight.take() {
            Some(flight) => flight,
            None if this.body.is_none() => panic!("polled again after it had ended"),
            None => {
                let live = this.function.live();
                match live.gate.try_enter() {
                    Ok(flight) => flight,
                    Err(rejection) => {
                        this.body.set(None);
                        let error = reject(live, this.function.origin(live), rejection);
                        return Poll::Ready(judge(Ask::Reject(error)).rejected());
                    }
                }
            }
        };
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        match poll_body(this.body, flight, verdict, give_back, cx) {
            Ok(returned) => Poll::Ready(returned),
            Err(flight) => {
                *this.flight = Some(flight);
                Poll::Pending
            }
        }
    }
}

pin_project! {
    /// See [`guard_timed`].
    #[doc(hidden)]
    #[must_use = "futures do nothing unless polled"]
    pub struct TimedGuarded<F, J> {
        #[pin]
        run: Run<F>,
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
            .poll(terms(this.function), verdict, cx)
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
