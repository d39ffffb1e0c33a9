//! The future around the body of a function that has a `deadline`, a `margin` or a breaker.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::answer::{Answer, Ask};
use super::run::{Calm, Run, Terms};
use super::side::Watched;
use crate::frame::{self, Setter};
use crate::function::Function;
use crate::observer;
use crate::time::Instant;

pin_project! {
    /// See [`guard_timed`](super::guard_timed).
    #[doc(hidden)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ContractGuarded<F, J> {
        #[pin]
        run: Run<F, Watched>,
        // Set in the first poll, if that was not its last.
        bounded: Option<Bounds>,
        function: &'static Function,
        judge: J,
    }
}

impl<F: Future, J> ContractGuarded<F, J> {
    #[inline]
    pub(super) fn new(function: &'static Function, body: F, judge: J) -> Self {
        Self {
            run: Run::new(body),
            bounded: None,
            function,
            judge,
        }
    }
}

impl<F, J> Future for ContractGuarded<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let (judge, function) = (this.judge, *this.function);
        let terms = Terms::of_function(function);
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        if this.bounded.is_none() && may_be_calm(function) {
            let run = this.run.as_mut();
            match run.poll_calmly(&terms, function.left(), verdict, cx) {
                Calm::Not => {}
                Calm::Ended(returned) => return Poll::Ready(returned),
                Calm::Rejected(error) => return Poll::Ready(judge(Ask::Reject(error)).rejected()),
                Calm::Parked(by) => {
                    this.run.as_mut().bounds(function.longest(), by);
                    *this.bounded = Some(Bounds(by));
                    let parked = this.run.poll_parked(terms, by, cx);
                    let answer = |error| judge(Ask::Reject(error)).rejected();
                    return parked.map(answer);
                }
            }
        }
        let bounds = if let Some(bounds) = *this.bounded {
            bounds
        } else {
            let bounds = Bounds::of(function);
            this.run.as_mut().bounds(function.longest(), bounds.own());
            *this.bounded.insert(bounds)
        };
        let _set = bounds.set();
        this.run
            .poll(terms, verdict, cx)
            .map(|result| result.unwrap_or_else(|error| judge(Ask::Reject(error)).rejected()))
    }
}

/// The deadline of a call that has begun, if it has another than its caller; and who has set it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds(Option<(Instant, Setter)>);

impl Bounds {
    /// The deadline, if it is the call's own. Not to be asked inside of it.
    pub(super) fn own(self) -> Option<(Instant, Setter)> {
        let Self(bounds) = self;
        bounds.filter(|(_, setter)| *setter > frame::setter())
    }

    /// Lets it hold for a poll.
    #[inline]
    pub(super) fn set(self) -> Option<frame::Restored> {
        let Self(bounds) = self;
        bounds.map(|(by, setter)| frame::set(by, setter))
    }

    /// Of a call that begins now.
    pub(super) fn of(function: &'static Function) -> Self {
        if !function.has_deadline_keys() {
            return Self(None);
        }
        let inherited = frame::deadline();
        if function.depends_on_a_deadline() && inherited.is_none() {
            observer::without_deadline(function.live(), function);
        }
        let narrowed = function.narrowed(inherited);
        Self(narrowed.map(|(by, is_own)| {
            let setter = if is_own {
                Setter::new()
            } else {
                frame::setter()
            };
            (by, setter)
        }))
    }
}

/// Whether a call that comes now may have no use for the clock, as long as its breakers have none.
#[inline]
fn may_be_calm(function: &'static Function) -> bool {
    function.timeout().is_none() && !function.depends_on_a_deadline() && !frame::is_due()
}

impl<F, J> fmt::Debug for ContractGuarded<F, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContractGuarded")
            .field("function", &self.function.path())
            .finish_non_exhaustive()
    }
}
