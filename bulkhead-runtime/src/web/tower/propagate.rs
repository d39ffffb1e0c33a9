//! The deadline that a request takes along: what is left of the caller's, told to the server.

use std::task::{Context, Poll};
use std::time::Duration;

use http::Request;
use tower::{Layer, Service};

use crate::deadline::Deadline;
use crate::web::deadline::{Header, propagate};

/// Tells the servers of a client how much time is left.
///
/// Where a request is made inside of a [`Deadline`], its header `x-request-timeout-ms`, or with
/// [`grpc`](Self::grpc) `grpc-timeout`, says what is left of it when the service is called, less the
/// [`margin`](Self::margin). It is always rounded down. Where nothing is left, it says 0, or a nanosecond for
/// gRPC, which has no zero; the request is sent all the same, and a server that reads the header rejects it.
///
/// Without a deadline no header is added. A header that the request has already stays if it is not longer;
/// one that is longer or malformed is replaced. So each server has less time than the one that asks it, and
/// a call of tonic's that has its own `set_timeout` keeps that if it is sooner.
///
/// It works before every client that is a tower service of `http` requests: hyper's, tonic's channel. Put it
/// inside of what retries or waits, so that each attempt says what is left by then. For other clients there
/// is [`Deadline::propagate`].
///
/// # Examples
/// ```
/// use std::convert::Infallible;
/// use std::time::Duration;
/// use bulkhead_runtime::{Deadline, tower::PropagateDeadlineLayer};
/// use http::{HeaderMap, Request};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let client = ServiceBuilder::new()
///     .layer(PropagateDeadlineLayer::new().margin(Duration::from_millis(20)))
///     .service(service_fn(|request: Request<()>| async move {
///         Ok::<HeaderMap, Infallible>(request.headers().clone()) // what a server would see
///     }));
///
/// let deadline = Deadline::after(Duration::from_millis(150));
/// let seen = deadline.scope(client.oneshot(Request::new(()))).await.unwrap();
/// assert_eq!(seen["x-request-timeout-ms"], "130");
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "a layer does nothing until it is put before a service"]
pub struct PropagateDeadlineLayer {
    margin: Duration,
    header: Header,
}

impl PropagateDeadlineLayer {
    /// In `x-request-timeout-ms`, without a margin.
    pub const fn new() -> Self {
        Self {
            margin: Duration::ZERO,
            header: Header::Millis,
        }
    }

    /// How much sooner than its client the server has to be ready: what the network and the reply need. Zero unless
    /// told otherwise.
    ///
    /// A margin as long as all that is left leaves the server nothing.
    pub const fn margin(mut self, margin: Duration) -> Self {
        self.margin = margin;
        self
    }

    /// In `grpc-timeout`, in the finest unit that fits its eight digits.
    pub const fn grpc(mut self) -> Self {
        self.header = Header::Grpc;
        self
    }
}

impl<S> Layer<S> for PropagateDeadlineLayer {
    type Service = PropagateDeadline<S>;

    fn layer(&self, service: S) -> Self::Service {
        PropagateDeadline {
            service,
            layer: *self,
        }
    }
}

/// A client that tells how much time is left; made by [`PropagateDeadlineLayer`].
///
/// # Cancel safety
/// That of the client: a call is the future of the client itself.
#[derive(Debug, Clone, Copy)]
pub struct PropagateDeadline<S> {
    service: S,
    layer: PropagateDeadlineLayer,
}

impl<S, B> Service<Request<B>> for PropagateDeadline<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(deadline) = Deadline::current() {
            let PropagateDeadlineLayer { margin, header } = self.layer;
            propagate(deadline, request.headers_mut(), margin, header);
        }
        self.service.call(request)
    }
}
