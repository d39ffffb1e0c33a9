//! The contract without the macro: a future with a permit around it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::run::{Run, Terms};
use super::side::Boxed;
use crate::error::BulkheadError;
use crate::outcome::Verdict;
use crate::partition::{Live, Partition};

pin_project! {
    /// A future that runs with a permit; made by [`Partition::call`], which has its errors, panics and
    /// cancel safety.
    #[must_use = "futures do nothing unless polled"]
    pub struct Call<'p, F, C = Unclassified> {
        #[pin]
        run: Run<F, Boxed>,
        live: &'static Live,
        timeout: Option<Duration>,
        classify: C,
        partition: std::marker::PhantomData<&'p Partition>,
    }
}

/// Every returned value is a success.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unclassified;

impl<F: Future> Call<'_, F> {
    pub(crate) fn new(partition: &Partition, future: F) -> Self {
        Self {
            run: Run::new(future),
            live: partition.live(),
            timeout: None,
            classify: Unclassified,
            partition: std::marker::PhantomData,
        }
    }
}

impl<'p, F: Future, C> Call<'p, F, C> {
    /// The longest time that the future may take from its permit to its end; time in the queue does
    /// not count. When it is over, the future is dropped, and then its permit is given back.
    ///
    /// A timeout of zero gives the future one poll.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// What a value means that the future returned.
    pub fn classify<G>(self, classify: G) -> Call<'p, F, G>
    where
        G: Fn(&F::Output) -> Verdict,
    {
        let Self {
            run,
            live,
            timeout,
            classify: _,
            partition,
        } = self;
        Call {
            run,
            live,
            timeout,
            classify,
            partition,
        }
    }
}

impl<F: Future> Future for Call<'_, F> {
    type Output = Result<F::Output, BulkheadError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_classified(|_, _| Verdict::Success, cx)
    }
}

impl<F, G> Future for Call<'_, F, G>
where
    F: Future,
    G: Fn(&F::Output) -> Verdict,
{
    type Output = Result<F::Output, BulkheadError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_classified(|classify, returned| classify(returned), cx)
    }
}

impl<F: Future, C> Call<'_, F, C> {
    fn poll_classified(
        self: Pin<&mut Self>,
        verdict: impl FnOnce(&C, &F::Output) -> Verdict,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, BulkheadError>> {
        let this = self.project();
        let terms = Terms::of(this.live, *this.timeout);
        let classify = this.classify;
        this.run
            .poll(terms, |returned| verdict(classify, returned), cx)
    }
}

impl<F, C> fmt::Debug for Call<'_, F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("partition", &self.live.partition.name())
            .finish_non_exhaustive()
    }
}
