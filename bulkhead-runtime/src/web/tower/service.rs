//! The service, and the future of one call.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower::{Layer, Service};

use super::extent::{Answered, Extent, UntilHead};
use super::judge::{ByResponse, Judge};
use super::layer::BulkheadLayer;
use crate::call::{Boxed, Run, Terms};
use crate::time::{self, Instant};

/// A service behind a partition; made by [`BulkheadLayer`].
#[derive(Debug, Clone, Copy)]
pub struct Bulkhead<S, J = ByResponse, X = UntilHead> {
    pub(super) service: S,
    pub(super) layer: BulkheadLayer<J, X>,
}

impl<S, J: Clone, X: Clone> Bulkhead<S, J, X> {
    /// Puts the partition of `layer` before `service`.
    pub fn new(service: S, layer: &BulkheadLayer<J, X>) -> Self {
        layer.layer(service)
    }
}

impl<S, J, X, Request> Service<Request> for Bulkhead<S, J, X>
where
    S: Service<Request> + Clone,
    J: Judge<S::Response, S::Error> + Clone,
    X: Extent<S::Response> + Clone,
{
    type Response = X::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S, Request, J, X>;

    /// Always ready: nothing is taken before there is a call, so nothing can be kept without one.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ResponseFuture {
            run: Run::new(Begun {
                call: Oneshot::new(self.service.clone(), request),
                began: None,
                is_noted: X::ASKS_WAITED,
            }),
            waits_since: None,
            layer: self.layer.clone(),
        }
    }
}

pin_project! {
    /// One call of a [`Bulkhead`].
    ///
    /// # Panics
    /// When it has to wait, or to arm a timeout, outside a tokio runtime with time enabled; and when polled
    /// again after it was ready.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it leaves the queue, and the service was never called. Dropped while it
    /// runs, it drops the call of the service first and then gives back the permit.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, Request, J, X>
    where
        S: Service<Request>,
    {
        // The readiness of the service is part of the call: a service that is never ready shall hold
        // permits, and not callers without number.
        #[pin]
        run: Run<Begun<Oneshot<S, Request>>, Boxed>,
        // The end of the first poll, if anybody asks how long it waited.
        waits_since: Option<Instant>,
        layer: BulkheadLayer<J, X>,
    }
}

impl<S, Request, J, X> Future for ResponseFuture<S, Request, J, X>
where
    S: Service<Request>,
    J: Judge<S::Response, S::Error>,
    X: Extent<S::Response>,
{
    type Output = Result<X::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let BulkheadLayer {
            partition,
            timeout,
            judge,
            extent,
        } = this.layer;
        let live = partition.live();
        let terms = Terms::of(live, *timeout);
        let origin = terms.origin;
        let waits_since = *this.waits_since;
        let end = |(answer, began): (Result<S::Response, S::Error>, _),
                   verdict,
                   flight,
                   watched: &mut Boxed| {
            let held = Answered {
                watched: mem::take(watched),
                flight,
                verdict,
                origin,
                waited: between(waits_since, began),
            };
            match answer {
                Ok(response) => Ok(extent.answered(response, held)),
                Err(error) => {
                    held.end();
                    Err(error)
                }
            }
        };
        let verdict = |(answer, _): &(_, _)| judge.verdict(answer);
        let polled = this.run.poll_to(terms, verdict, end, cx);
        if X::ASKS_WAITED && polled.is_pending() {
            this.waits_since.get_or_insert_with(time::now);
        }
        Poll::Ready(ready!(polled).unwrap_or_else(|error| {
            judge
                .reject(error)
                .map(|response| extent.rejected(response))
        }))
    }
}

/// No time where the call began in its first poll.
fn between(since: Option<Instant>, began: Option<Instant>) -> Duration {
    let waited = began
        .zip(since)
        .map(|(began, since)| began.saturating_duration_since(since));
    waited.unwrap_or_default()
}

pin_project! {
    /// A call that notes when it began, where that is asked for.
    struct Begun<F> {
        #[pin]
        call: F,
        began: Option<Instant>,
        is_noted: bool,
    }
}

impl<F: Future> Future for Begun<F> {
    type Output = (F::Output, Option<Instant>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if *this.is_noted && this.began.is_none() {
            *this.began = Some(time::now());
        }
        this.call.poll(cx).map(|output| (output, *this.began))
    }
}

impl<S: Service<Request>, Request, J, X> fmt::Debug for ResponseFuture<S, Request, J, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("partition", &self.layer.partition.name())
            .finish_non_exhaustive()
    }
}
