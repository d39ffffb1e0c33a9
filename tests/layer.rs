//! The layer before a service: who owns a permit, and when.

mod common;

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, http};
use bulkhead_runtime::{
    BreakerPolicy, BreakerState, BulkheadError, BulkheadLayer, Deadline, Partition, Policy,
    Verdict, register,
};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, plain, poll_once, queued};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

/// A service that counts how often it was asked whether it is ready, and how often it was called.
#[derive(Clone, Default)]
struct Counted {
    asked: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
}

impl Service<u32> for Counted {
    type Response = u32;
    type Error = BoxError;
    type Future = Ready<Result<u32, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        self.called.fetch_add(1, Ordering::SeqCst);
        ready(Ok(request))
    }
}

fn in_flight(partition: &Partition) -> u64 {
    partition.snapshot().in_flight
}

fn is_full(error: &BoxError) -> bool {
    matches!(error.downcast_ref(), Some(BulkheadError::Full(_)))
}

#[tokio::test]
async fn no_clone_and_no_readiness_owns_a_permit() {
    let partition = plain("layer-idle-clones", 1);
    let service = BulkheadLayer::new(partition)
        .as_error()
        .layer(Counted::default());
    let mut clones: Vec<_> = (0..100).map(|_| service.clone()).collect();
    for clone in &mut clones {
        clone.ready().await.expect("it is always ready");
        assert_eq!(
            in_flight(partition),
            0,
            "a clone that is ready owns nothing"
        );
    }
    // With every clone "ready", and none of them used, the only permit is there for whoever calls.
    assert_eq!(service.oneshot(7).await.expect("there is room"), 7);
    assert_idle(partition);
}

#[tokio::test]
async fn a_future_that_nobody_polls_owns_nothing() {
    let partition = plain("layer-unpolled", 1);
    let mut service = BulkheadLayer::new(partition)
        .as_error()
        .layer(Counted::default());
    let unpolled = service.call(1);
    assert_eq!(service.call(2).await.expect("there is room"), 2);
    drop(unpolled);
    assert_eq!(
        partition.snapshot().started,
        1,
        "what was never polled never came"
    );
    assert_idle(partition);
}

#[tokio::test]
async fn the_permit_is_back_while_the_finished_future_is_still_there() {
    let partition = plain("layer-finished", 1);
    let mut service = BulkheadLayer::new(partition)
        .as_error()
        .layer(Counted::default());
    let mut finished = pin!(service.call(1));
    assert!(poll_once(finished.as_mut()).is_ready(), "there is room");
    assert_eq!(in_flight(partition), 0, "the response is done");
    let mut next = pin!(service.call(2));
    assert!(
        matches!(poll_once(next.as_mut()), Poll::Ready(Ok(2))),
        "with the finished future still there"
    );
}

#[tokio::test]
async fn a_rejected_call_never_reaches_the_service() {
    let partition = plain("layer-never-reached", 1);
    let counted = Counted::default();
    let service = BulkheadLayer::new(partition)
        .as_error()
        .layer(counted.clone());
    let permit = partition.try_enter().expect("it is free");
    let error = service.clone().oneshot(1).await.expect_err("it is full");
    assert!(is_full(&error), "{error}");
    assert_eq!(
        (
            counted.asked.load(Ordering::SeqCst),
            counted.called.load(Ordering::SeqCst)
        ),
        (0, 0),
        "neither called nor asked whether it is ready"
    );
    drop(permit);
    service.oneshot(1).await.expect("there is room again");
    assert_eq!(counted.called.load(Ordering::SeqCst), 1);
    assert_idle(partition);
}

#[tokio::test]
async fn a_call_that_waits_has_not_reached_the_service_either() {
    let partition = queued("layer-waits", 1, 1, ms(100));
    let counted = Counted::default();
    let mut service = BulkheadLayer::new(partition)
        .as_error()
        .layer(counted.clone());
    let permit = partition.try_enter().expect("it is free");
    let mut waits = pin!(service.call(1));
    assert!(poll_once(waits.as_mut()).is_pending(), "it waits");
    let mut third = pin!(service.call(2));
    let Poll::Ready(Err(error)) = poll_once(third.as_mut()) else {
        panic!("neither a permit nor a place is free: rejected in the first poll")
    };
    assert!(is_full(&error), "{error}");
    assert_eq!(counted.called.load(Ordering::SeqCst), 0);
    drop(permit);
    assert_eq!(waits.await.expect("it was its turn"), 1);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_never_ready_collects_no_callers() {
    #[derive(Clone)]
    struct NeverReady;
    impl Service<()> for NeverReady {
        type Response = ();
        type Error = BoxError;
        type Future = Ready<Result<(), BoxError>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Pending
        }
        fn call(&mut self, (): ()) -> Self::Future {
            unreachable!("it is never ready")
        }
    }
    let partition = plain("layer-never-ready", 2);
    let mut service = BulkheadLayer::new(partition)
        .as_error()
        .timeout(ms(50))
        .layer(NeverReady);
    let (mut a, mut b) = (pin!(service.call(())), pin!(service.call(())));
    assert!(poll_once(a.as_mut()).is_pending() && poll_once(b.as_mut()).is_pending());
    assert_eq!(in_flight(partition), 2, "its readiness is part of the call");
    let error = service.ready().await.expect("always").call(()).await;
    assert!(is_full(&error.expect_err("two wait already")));
    for late in [a.await, b.await] {
        let error = late.expect_err("it is never ready");
        assert!(
            matches!(error.downcast_ref(), Some(BulkheadError::CallTimeout(_))),
            "{error}"
        );
    }
    assert_eq!(partition.snapshot().outcomes.timed_out, 2);
    assert_idle(partition);
}

#[tokio::test]
async fn one_partition_whatever_is_cloned_and_wherever_it_is_applied() {
    let partition = plain("layer-one-partition", 2);
    let layer = BulkheadLayer::new(partition);
    let hang = || get(pending::<&'static str>);
    // On a router of two routes, once more on a route of another router, and in a clone of each.
    let first = Router::new()
        .route("/a", hang())
        .route("/b", hang())
        .layer(layer);
    let second = Router::new().route("/c", hang().layer(layer));
    let (a, b) = (ask(&first, "/a"), ask(&first.clone(), "/b"));
    let (mut a, mut b) = (pin!(a), pin!(b));
    assert!(poll_once(a.as_mut()).is_pending() && poll_once(b.as_mut()).is_pending());
    for (router, path) in [(&first, "/a"), (&first, "/b"), (&second, "/c")] {
        let response = ask(&router.clone(), path).await;
        assert_eq!(response.status(), 503, "{path}: two are in flight");
    }
    assert_eq!(in_flight(partition), 2);
}

fn ask(router: &Router, path: &str) -> impl Future<Output = Response<Body>> + use<> {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    let answer = router.clone().oneshot(request);
    async { answer.await.unwrap_or_else(|never| match never {}) }
}

#[tokio::test]
async fn a_rejection_is_the_same_response_as_from_the_attribute() {
    let partition = plain("layer-same-response", 1);
    let router = Router::new()
        .route("/", get(|| async { "fine" }))
        .layer(BulkheadLayer::new(partition));
    assert_eq!(ask(&router, "/").await.status(), 200);
    let _permit = partition.try_enter().expect("it is free");
    let expected = partition
        .try_enter()
        .expect_err("it is full")
        .to_response::<String>();
    let (head, body) = ask(&router, "/").await.into_parts();
    let body = axum::body::to_bytes(body, 4096).await.expect("a body");
    assert_eq!(head.status, expected.status());
    assert_eq!(body, expected.body().as_bytes());
    assert_eq!(
        head.headers[http::header::CONTENT_TYPE],
        expected.headers()[http::header::CONTENT_TYPE]
    );
    assert!(head.headers.contains_key(http::header::RETRY_AFTER));
    assert!(!head.headers.contains_key("x-envoy-ratelimited"));
}

#[tokio::test(start_paused = true)]
async fn envoy_is_told_of_rejections_and_of_nothing_else() {
    let partition = plain("layer-envoy", 1);
    let layer = BulkheadLayer::new(partition)
        .timeout(ms(10))
        .envoy_ratelimited();
    let router = Router::new()
        .route("/", get(|| async { "fine" }))
        .route("/broken", get(|| async { StatusCode::SERVICE_UNAVAILABLE }))
        .route("/hangs", get(pending::<&'static str>))
        .layer(layer);
    for (path, status) in [("/", 200), ("/broken", 503), ("/hangs", 504)] {
        let response = ask(&router, path).await;
        assert_eq!(response.status(), status, "{path}");
        let marked = response.headers().contains_key("x-envoy-ratelimited");
        assert!(!marked, "{path}: its body ran");
    }
    let _permit = partition.try_enter().expect("it is free");
    let response = ask(&router, "/").await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["x-envoy-ratelimited"], "true");
}

#[test]
fn a_rejection_of_a_429_partition_says_429_in_its_status_and_in_its_body() {
    let policy = Policy::new(1).with_status(429);
    let partition = register("layer-429", policy).expect("a name of its own");
    let _permit = partition.try_enter().expect("it is free");
    let error = partition.try_enter().expect_err("it is full");
    let response: Response<String> = error.to_response();
    assert_eq!(
        (error.status().as_u16(), response.status().as_u16()),
        (429, 429)
    );
    let problem = response.body();
    assert!(
        problem.contains(r#""title":"Too Many Requests","status":429"#),
        "{problem}"
    );
    assert!(response.headers().contains_key("retry-after"));
}

#[tokio::test(start_paused = true)]
async fn a_call_timeout_of_a_429_partition_is_a_504() {
    let policy = Policy::new(1).with_status(429);
    let partition = register("layer-429-timeout", policy).expect("a name of its own");
    let router = Router::new()
        .route("/", get(pending::<&'static str>))
        .layer(BulkheadLayer::new(partition).timeout(ms(10)));
    assert_eq!(ask(&router, "/").await.status(), 504);
    assert_idle(partition);
}

async fn answer(axum::extract::Path(status): axum::extract::Path<u16>) -> Response<Body> {
    StatusCode::from_u16(status)
        .expect("it exists")
        .into_response()
}

#[tokio::test]
async fn verdicts_come_from_the_response_the_error_or_the_function() {
    let statuses = |name: &'static str, layer: BulkheadLayer| async move {
        let router = Router::new().route("/{status}", get(answer)).layer(layer);
        for status in ["200", "404", "500", "503"] {
            ask(&router, &format!("/{status}")).await;
        }
        let outcomes = bulkhead_runtime::partition(name)
            .expect("it is registered")
            .snapshot()
            .outcomes;
        (outcomes.success, outcomes.failure, outcomes.ignored)
    };
    let by_type = BulkheadLayer::new(plain("layer-verdict-type", 1));
    assert_eq!(statuses("layer-verdict-type", by_type).await, (2, 2, 0));

    let partition = plain("layer-verdict-function", 1);
    let layer =
        BulkheadLayer::new(partition).classify(|answer: &Result<Response<Body>, Infallible>| {
            match answer {
                Ok(response) if response.status() == 404 => Verdict::Ignored,
                Ok(_) => Verdict::Success,
                Err(never) => match *never {},
            }
        });
    let router = Router::new().route("/{status}", get(answer)).layer(layer);
    for status in ["200", "404", "500"] {
        ask(&router, &format!("/{status}")).await;
    }
    let outcomes = partition.snapshot().outcomes;
    assert_eq!(
        (outcomes.success, outcomes.failure, outcomes.ignored),
        (2, 0, 1)
    );

    let partition = plain("layer-verdict-error", 1);
    let service = ServiceBuilder::new()
        .layer(BulkheadLayer::new(partition).as_error())
        .service(service_fn(|fails: bool| async move {
            if fails {
                Err(BoxError::from(ON_PURPOSE))
            } else {
                Ok(())
            }
        }));
    service.oneshot(false).await.expect("it works");
    service.oneshot(true).await.expect_err("it fails");
    let outcomes = partition.snapshot().outcomes;
    assert_eq!((outcomes.success, outcomes.failure), (1, 1));
}

#[tokio::test]
async fn a_function_may_make_the_rejection() {
    let partition = plain("layer-reject", 1);
    let service = BulkheadLayer::new(partition)
        .reject(|error: BulkheadError| Ok::<_, Infallible>(error.to_string()))
        .layer(service_fn(|()| async { Ok("fine".to_owned()) }));
    let _permit = partition.try_enter().expect("it is free");
    let said = service
        .oneshot(())
        .await
        .unwrap_or_else(|never| match never {});
    assert_eq!(
        said,
        "`layer-reject` is full: 1 of 1 permits in flight and no queue"
    );
}

/// Records how many were in flight when it was dropped.
struct LetsGo {
    partition: &'static Partition,
    in_flight: Arc<AtomicU64>,
}

impl Drop for LetsGo {
    fn drop(&mut self) {
        let in_flight = in_flight(self.partition);
        self.in_flight.store(in_flight, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_dropped_call_gives_its_permit_back_after_the_service_has_let_go() {
    let partition = plain("layer-dropped", 1);
    let seen = Arc::new(AtomicU64::new(0));
    let held = Arc::clone(&seen);
    let service = service_fn(move |()| {
        let lets_go = LetsGo {
            partition,
            in_flight: Arc::clone(&held),
        };
        async move {
            let answer = pending::<Result<(), BoxError>>().await;
            drop(lets_go);
            answer
        }
    });
    let mut service = BulkheadLayer::new(partition).as_error().layer(service);
    {
        let mut call = pin!(service.call(()));
        assert!(poll_once(call.as_mut()).is_pending());
        assert_eq!(in_flight(partition), 1);
        assert_eq!(seen.load(Ordering::SeqCst), 0, "the call runs");
    }
    assert_eq!(
        seen.load(Ordering::SeqCst),
        1,
        "the service let go while the permit was held"
    );
    assert_eq!(partition.snapshot().outcomes.cancelled, 1);
    assert_idle(partition);
}

#[tokio::test]
async fn a_service_that_panics_gives_its_permit_back() {
    panics_on_purpose_are_silent();
    let partition = plain("layer-panics", 1);
    let service = BulkheadLayer::new(partition)
        .as_error()
        .layer(service_fn(|()| async {
            std::panic::panic_any(ON_PURPOSE.to_owned());
            #[expect(unreachable_code, reason = "it says what it would return")]
            Ok::<(), BoxError>(())
        }));
    let task = tokio::spawn(service.oneshot(()));
    task.await.expect_err("it panics");
    assert_eq!(partition.snapshot().outcomes.panicked, 1);
    assert_idle(partition);
}

/// A service that panics outside its future.
#[derive(Clone)]
struct Panics {
    is_ready: bool,
}

impl Service<()> for Panics {
    type Response = ();
    type Error = BoxError;
    type Future = Ready<Result<(), BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.is_ready {
            return Poll::Ready(Ok(()));
        }
        std::panic::panic_any(ON_PURPOSE.to_owned())
    }

    fn call(&mut self, (): ()) -> Self::Future {
        std::panic::panic_any(ON_PURPOSE.to_owned())
    }
}

#[tokio::test]
async fn a_service_that_panics_before_its_future_gives_its_permit_back() {
    panics_on_purpose_are_silent();
    for is_ready in [false, true] {
        let partition = plain(&format!("layer-panics-early-{is_ready}"), 1);
        let layer = BulkheadLayer::new(partition).as_error();
        let task = tokio::spawn(layer.layer(Panics { is_ready }).oneshot(()));
        task.await.expect_err("it panics");
        assert_eq!(partition.snapshot().outcomes.panicked, 1, "{is_ready}");
        assert_idle(partition);
    }
}

#[tokio::test]
async fn with_a_function_for_rejections_every_response_is_a_success() {
    let partition = plain("layer-reject-verdict", 1);
    let layer = BulkheadLayer::new(partition)
        .reject(|error: BulkheadError| Ok::<_, Infallible>(error.to_response::<Body>()));
    let router = Router::new().route("/{status}", get(answer)).layer(layer);
    assert_eq!(ask(&router, "/500").await.status(), 500);
    let outcomes = partition.snapshot().outcomes;
    assert_eq!((outcomes.success, outcomes.failure), (1, 0));
}

#[test]
#[should_panic = "`wait` (100ms) must be shorter than `timeout` (50ms)"]
fn a_timeout_below_the_wait_is_refused() {
    let partition = queued("layer-timeout-below-wait", 1, 1, ms(100));
    let _ = BulkheadLayer::new(partition).timeout(ms(50));
}

#[test]
#[should_panic = "`until_body` takes at least 1 ms"]
fn a_body_of_no_time_is_refused() {
    let _ = BulkheadLayer::new(plain("layer-no-time", 1)).until_body(ms(0));
}

/// Its breaker opens on two failures in a row.
fn touchy(name: &str) -> &'static Partition {
    let breaker = BreakerPolicy::new()
        .with_consecutive(2)
        .with_probes(1)
        .with_open_for(ms(100));
    register(name, Policy::new(2).with_breaker(breaker)).expect("a name of its own")
}

fn state(partition: &Partition) -> BreakerState {
    partition.breaker().expect("it has one").state()
}

#[tokio::test(start_paused = true)]
async fn responses_of_5xx_open_the_breaker_and_then_the_service_is_not_called() {
    let partition = touchy("layer-breaker");
    let called = Arc::new(AtomicUsize::new(0));
    let counting = {
        let called = Arc::clone(&called);
        move |path| {
            called.fetch_add(1, Ordering::SeqCst);
            answer(path)
        }
    };
    let router = Router::new()
        .route("/{status}", get(counting))
        .layer(BulkheadLayer::new(partition));
    for path in ["/500", "/404", "/502", "/503"] {
        assert_eq!(state(partition), BreakerState::Closed, "before {path}");
        ask(&router, path).await;
    }
    assert_eq!(
        (state(partition), called.load(Ordering::SeqCst)),
        (BreakerState::Open, 4)
    );
    let response = ask(&router, "/200").await;
    assert_eq!(
        (response.status().as_u16(), called.load(Ordering::SeqCst)),
        (503, 4)
    );
    assert_eq!(
        response.headers()["retry-after"],
        "1",
        "100 ms are less than a second"
    );
    tokio::time::advance(ms(120)).await;
    assert_eq!(ask(&router, "/204").await.status(), 204);
    assert_eq!(state(partition), BreakerState::Closed);
    let s = partition.snapshot();
    assert_eq!((s.admitted, s.rejected.breaker_open), (5, 1));
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_hangs_or_panics_opens_the_breaker_and_one_that_is_left_does_not() {
    #[derive(Clone, Copy)]
    enum How {
        Works,
        Fails,
        Hangs,
        Panics,
    }
    panics_on_purpose_are_silent();
    let partition = touchy("layer-breaker-kinds");
    let service = BulkheadLayer::new(partition)
        .as_error()
        .timeout(ms(50))
        .layer(service_fn(|how| async move {
            match how {
                How::Works => Ok(()),
                How::Fails => Err(BoxError::from(ON_PURPOSE)),
                How::Hangs => pending().await,
                How::Panics => std::panic::panic_any(ON_PURPOSE.to_owned()),
            }
        }));
    for _ in 0..3 {
        let call = Deadline::after(ms(20)).scope(service.oneshot(How::Hangs));
        let error = call.await.expect_err("it hangs");
        assert!(
            matches!(
                error.downcast_ref(),
                Some(BulkheadError::DeadlineExceeded(_))
            ),
            "{error}"
        );
        let left = tokio::time::timeout(ms(20), service.oneshot(How::Hangs)).await;
        left.expect_err("it hangs");
    }
    assert_eq!(partition.breaker().expect("it has one").snapshot().calls, 0);
    for (one, other) in [(How::Fails, How::Hangs), (How::Panics, How::Fails)] {
        for how in [one, How::Works, one, other] {
            assert_eq!(state(partition), BreakerState::Closed);
            drop(tokio::spawn(service.oneshot(how)).await);
        }
        assert_eq!(state(partition), BreakerState::Open);
        let error = service.oneshot(How::Works).await.expect_err("it is open");
        assert!(
            matches!(error.downcast_ref(), Some(BulkheadError::BreakerOpen(_))),
            "{error}"
        );
        partition.breaker().expect("it has one").reset();
    }
    assert_idle(partition);
}
