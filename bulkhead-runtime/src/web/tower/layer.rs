//! The settings of the layer.

use std::time::Duration;

use tower::Layer;

use super::extent::{UntilBody, UntilHead};
use super::judge::{ByError, ByFunction, ByResponse, Classified, ForEnvoy};
use super::service::Bulkhead;
use crate::error::BulkheadError;
use crate::outcome::Verdict;
use crate::partition::Partition;
use crate::policy::check;

/// Puts a partition before a service. See the [module](crate::tower) for what it holds, and when.
///
/// It works on an axum route or router, on a tonic server or channel, and on every other service that
/// is `Clone`. A layer that is applied many times, as axum does for the routes of a router, is one
/// partition all the same. `Router::layer` covers the fallback too, so that a path that does not exist
/// takes a permit, or is told that the partition is full; prefer `Router::route_layer`, or a layer on the
/// route.
///
/// # Examples
/// Without a framework, with the error of the service:
/// ```
/// use bulkhead_runtime::{BulkheadError, BulkheadLayer, Partition, partition};
/// use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};
///
/// #[partition(name = "geocoder", max = 1)]
/// static GEOCODER: Partition;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
/// let geocoder = ServiceBuilder::new()
///     .layer(BulkheadLayer::new(&GEOCODER).as_error())
///     .service(service_fn(|place: &'static str| async move { Ok::<_, BoxError>(place.len()) }));
///
/// assert_eq!(geocoder.clone().oneshot("Ulm").await?, 3);
///
/// let _permit = GEOCODER.try_enter()?;
/// let error = geocoder.oneshot("Ulm").await.unwrap_err();
/// assert!(matches!(error.downcast_ref(), Some(BulkheadError::Full(_))));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a layer does nothing until it is put before a service"]
pub struct BulkheadLayer<J = ByResponse, X = UntilHead> {
    pub(super) partition: &'static Partition,
    pub(super) timeout: Option<Duration>,
    pub(super) judge: J,
    pub(super) extent: X,
}

impl BulkheadLayer {
    /// Every call of the service takes a permit of `partition`, and waits in its queue if it has one.
    ///
    /// A rejection is a response of the service's own type; its [verdict](crate::FromBulkheadError::verdict)
    /// decides what is a failure, and so does an error of the service.
    pub const fn new(partition: &'static Partition) -> Self {
        Self {
            partition,
            timeout: None,
            judge: ByResponse,
            extent: UntilHead,
        }
    }

    /// A rejection is the error of the service, made by its `From<BulkheadError>`.
    ///
    /// For services whose response cannot carry one, as those of most clients. Every response then
    /// counts as a success, unless [`classify`](BulkheadLayer::classify) says otherwise. Where the error
    /// is of another crate, box it first: `.map_err(tower::BoxError::from)` below the layer.
    pub fn as_error(self) -> BulkheadLayer<ByError> {
        self.judged(|_| ByError)
    }

    /// A rejection is what `reject` makes of it: a response, or an error.
    ///
    /// Every response of the service then counts as a success, a 5xx as well, unless
    /// [`classify`](BulkheadLayer::classify) says otherwise; an error is a failure.
    ///
    /// # Examples
    /// ```
    /// # use std::convert::Infallible;
    /// # use bulkhead_runtime::{BulkheadLayer, Partition, partition};
    /// # #[partition(name = "lookup", max = 1)]
    /// # static LOOKUP: Partition;
    /// let layer = BulkheadLayer::new(&LOOKUP)
    ///     .reject(|error| Ok::<_, Infallible>(format!("come back later: {error}")));
    /// ```
    pub fn reject<F, R, E>(self, reject: F) -> BulkheadLayer<ByFunction<F>>
    where
        F: Fn(BulkheadError) -> Result<R, E>,
    {
        self.judged(|_| ByFunction(reject))
    }
}

impl<J, X> BulkheadLayer<J, X> {
    /// The longest time from the permit to the response; time in the queue does not count.
    ///
    /// When it is over, the call is dropped, then its permit is given back, and the caller is told as
    /// of a rejection; over HTTP with a 504.
    ///
    /// # Panics
    /// When it is below 1 ms or above 365 days, and when the `wait` of the partition is not shorter.
    #[track_caller]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        check::timeout(timeout);
        check::policy_below_timeout(*self.partition.policy(), timeout);
        self.timeout = Some(timeout);
        self
    }

    /// What an answer of the service means; in the place of what its type says.
    pub fn classify<C, R, E>(self, classify: C) -> BulkheadLayer<Classified<J, C>, X>
    where
        C: Fn(&Result<R, E>) -> Verdict,
    {
        self.judged(|judge| Classified { judge, classify })
    }

    /// Adds `x-envoy-ratelimited: true` to the response of a call that never ran.
    ///
    /// Envoy then does not retry it, unless its retry policy says `envoy-ratelimited`.
    pub fn envoy_ratelimited(self) -> BulkheadLayer<ForEnvoy<J>, X> {
        self.judged(ForEnvoy)
    }

    /// The permit stays until the server has taken the last piece of the response's *body*, or has
    /// dropped it, but no longer than `longest` from its head on.
    ///
    /// A response is done for the service when its head is, while a download or a stream of events goes
    /// on using what the partition protects: a file handle, a cursor, memory. Off by default, because a
    /// server takes the next piece only when the *client* has read enough of those before: a client that
    /// reads slowly then holds a permit, and with it a share of your service. So `longest` is compulsory.
    /// When it is over, the body is dropped, even if nobody polls it, and the connection sees an error,
    /// or over gRPC the status `DEADLINE_EXCEEDED`; the call counts as timed out. Over HTTP/1.0, where
    /// the end of the connection is the end of the body, a client takes a body without a length that was
    /// cut off for a whole one.
    ///
    /// The permit says nothing about what the server has taken and not sent yet. A body of one piece is
    /// taken at once, however large, and the last pieces of any other may still be on their way when the
    /// permit is back. A connection that is upgraded (101) gives it back with the head.
    ///
    /// A body that fails counts as a failure. Trailers with a `grpc-status` of the server's fault make a
    /// failure of a success; what the head said of a failure, or of the caller's own mistake, they do not
    /// change. A body that is dropped before its end is a cancelled call: its client has left. But it
    /// counts as its head says if that was a failure, if all of the announced length was taken, or if a length was announced and nothing was asked for, as after
    /// HEAD and with a 304. [`timeout`](Self::timeout) bounds the time to the head.
    ///
    /// The response is boxed once, and a task watches the time. It runs where the service was called: on
    /// a runtime that was shut down nobody watches, and a body that nobody polls either keeps its permit
    /// until it is dropped.
    ///
    /// The error of a body that took too long is a [`CallTimeout`](crate::CallTimeout): what it and its
    /// text call `timeout` is `longest` then, and `ran` is the time since the head.
    ///
    /// # Panics
    /// When `longest` is below 1 ms or above 365 days. The service panics outside a tokio runtime with
    /// time enabled, and the call counts as panicked.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use axum::{Router, body::Body, routing::get};
    /// use bulkhead_runtime::{BulkheadLayer, Partition, partition};
    ///
    /// #[partition(name = "downloads", max = 16)]
    /// static DOWNLOADS: Partition;
    ///
    /// let app: Router = Router::new()
    ///     .route("/archive", get(|| async { Body::from("…") }))
    ///     .route_layer(BulkheadLayer::new(&DOWNLOADS).until_body(Duration::from_secs(300)));
    /// ```
    #[track_caller]
    pub fn until_body(self, longest: Duration) -> BulkheadLayer<J, UntilBody> {
        check::longest(longest);
        BulkheadLayer {
            partition: self.partition,
            timeout: self.timeout,
            judge: self.judge,
            extent: UntilBody { longest },
        }
    }

    fn judged<K>(self, judge: impl FnOnce(J) -> K) -> BulkheadLayer<K, X> {
        BulkheadLayer {
            partition: self.partition,
            timeout: self.timeout,
            judge: judge(self.judge),
            extent: self.extent,
        }
    }
}

impl<S, J: Clone, X: Clone> Layer<S> for BulkheadLayer<J, X> {
    type Service = Bulkhead<S, J, X>;

    fn layer(&self, service: S) -> Self::Service {
        Bulkhead {
            service,
            layer: self.clone(),
        }
    }
}
