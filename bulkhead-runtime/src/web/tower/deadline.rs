//! The deadline that a request brings along: read when it arrives, and held to by the calls inside.

use std::task::{Context, Poll};
use std::time::Duration;

use http::Request;
use tower::{Layer, Service};

use crate::deadline::{Deadline, Scope};
use crate::frame::{self, Setter};
use crate::policy::check;

/// Gives every request a deadline: the cap, or sooner if its client says so.
///
/// A client says it with `x-request-timeout-ms` (whole milliseconds) or with `grpc-timeout` (one to eight
/// digits and a unit, as gRPC writes it); the shorter holds if it sends both. It counts from when the request
/// arrived at the layer. The cap is the service's own word: a client can shorten it and never lengthen it, so
/// the layer may stand before strangers. A header that is malformed, says more than the cap or is there twice
/// counts as if it were not there: the cap holds. With `0` the deadline has passed when the request arrives,
/// and guarded calls inside are rejected.
///
/// The service runs inside [`Deadline::scope`], up to the head of its response; a body that is made while it
/// is sent is outside. A deadline that holds already where the layer is called is narrowed too, and never
/// widened.
///
/// The layer stops nothing by itself. What the deadline bounds are the guarded calls inside, whether a
/// function with the attribute, a [`Partition::call`](crate::Partition::call) or a
/// [`BulkheadLayer`](super::BulkheadLayer) further in; everything else a handler is free to do. A tonic server
/// also ends a call by itself when its `grpc-timeout` is over, without the cap.
///
/// It works on an axum router or a single route, on a tonic server or one of its services, and on every other
/// service of `http` requests. Put it outside of a `BulkheadLayer` that shall hold to it.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use axum::{Router, body::Body, http::Request, routing::get};
/// use bulkhead_runtime::{Deadline, tower::DeadlineLayer};
/// use tower::ServiceExt;
///
/// const ROUTES: DeadlineLayer = DeadlineLayer::capped(Duration::from_secs(15));
///
/// async fn report() -> &'static str {
///     let left = Deadline::current().expect("the layer gives one").remaining();
///     assert!(left <= Duration::from_millis(200));
///     "done"
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let app: Router = Router::new().route("/report", get(report)).layer(ROUTES);
///
/// let request = Request::get("/report").header("x-request-timeout-ms", "200");
/// let response = app.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
/// assert_eq!(response.status(), 200);
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a layer does nothing until it is put before a service"]
pub struct DeadlineLayer {
    cap: Duration,
}

impl DeadlineLayer {
    /// No request has longer than `cap`, whatever its client says.
    ///
    /// # Panics
    /// When `cap` is below 1 ms or above 365 days. In a constant, that does not compile.
    #[track_caller]
    pub const fn capped(cap: Duration) -> Self {
        check::cap(cap);
        Self { cap }
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = WithDeadline<S>;

    fn layer(&self, service: S) -> Self::Service {
        WithDeadline {
            service,
            cap: self.cap,
        }
    }
}

/// A service whose every request has a deadline; made by [`DeadlineLayer`].
///
/// # Cancel safety
/// That of the service: the future of a call owns nothing else.
#[derive(Debug, Clone, Copy)]
pub struct WithDeadline<S> {
    service: S,
    cap: Duration,
}

impl<S, B> Service<Request<B>> for WithDeadline<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Scope<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let capped = Deadline::from_headers(request.headers(), self.cap);
        // The future may be polled by another task, where this one's deadline does not hold any more.
        let deadline = Deadline::current().map_or(capped, |current| capped.narrowed(current));
        // A service may look at it before it has made its future, as `PropagateDeadline` does.
        let narrowed = frame::narrow(deadline.instant(), Setter::new());
        let future = self.service.call(request);
        drop(narrowed);
        deadline.scope(future)
    }
}
