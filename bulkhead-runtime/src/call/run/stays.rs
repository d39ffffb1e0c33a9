//! A body that is dropped with its caller.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::{Run, Terms};
use crate::call::answer::{Answer, Ask};
use crate::call::attempt::{AttemptEnd, Polled, Start};
use crate::call::side::Watched;
use crate::function::Function;

pin_project! {
    /// See [`Stays`](crate::call::Stays).
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct PlainAttempt<F> {
        #[pin]
        run: Run<F, Watched>,
    }
}

impl<F: Future> PlainAttempt<F> {
    #[inline]
    pub(in crate::call) fn new(body: F) -> Self {
        Self {
            run: Run::new(body),
        }
    }
}

impl<F, J> Polled<F::Output, J> for PlainAttempt<F>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    fn start(self: Pin<&mut Self>, start: Start) {
        self.project().run.start(start);
    }

    fn poll_attempt(
        self: Pin<&mut Self>,
        function: &'static Function,
        judge: &J,
        cx: &mut Context<'_>,
    ) -> Poll<AttemptEnd<F::Output>> {
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        let terms = Terms::of_function(function);
        let polled = self.project().run.poll_judged(terms, verdict, cx);
        polled.map(AttemptEnd::of)
    }
}
