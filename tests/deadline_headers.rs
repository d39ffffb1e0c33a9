//! Deadlines that come with a request and go along with one: who may shorten them, and who is told what.

mod common;

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request};
use axum::routing::{get, post};
use bulkhead_runtime::tower::{DeadlineLayer, PropagateDeadlineLayer};
use bulkhead_runtime::{BulkheadError, BulkheadLayer, Deadline, bulkhead};
use common::wire::{client, request, serve, soon};
use common::{ON_PURPOSE, ms, panics_on_purpose_are_silent, plain, poll_once};
use http_body_util::BodyExt;
use tokio::time::advance;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

/// A header, as it is sent.
type Sent = (&'static str, &'static [u8]);

const MILLIS: &str = "x-request-timeout-ms";
const GRPC: &str = "grpc-timeout";
const CAP: Duration = Duration::from_secs(10);
const CAPPED: DeadlineLayer = DeadlineLayer::capped(CAP);

fn left() -> Option<Duration> {
    Deadline::current().map(|deadline| deadline.remaining())
}

/// A service that answers with the time that is left when its future runs.
fn clock<B>() -> impl Service<
    Request<B>,
    Response = Option<Duration>,
    Error = Infallible,
    Future: Future<Output = Result<Option<Duration>, Infallible>> + Send + 'static,
> + Clone {
    service_fn(|_: Request<B>| async { Ok(left()) })
}

fn with(headers: &[Sent]) -> Request<()> {
    let mut request = Request::new(());
    for &(name, value) in headers {
        let value = HeaderValue::from_bytes(value).expect("it may be sent");
        request.headers_mut().append(name, value);
    }
    request
}

fn sure<T>(result: Result<T, Infallible>) -> T {
    result.unwrap_or_else(|never| match never {})
}

#[tokio::test(start_paused = true)]
async fn a_client_can_shorten_its_time_and_never_lengthen_it() {
    for (headers, expected) in [
        (&[] as &[Sent], CAP),
        (&[(MILLIS, b"50")], ms(50)),
        (&[(GRPC, b"50m")], ms(50)),
        (&[(MILLIS, b"9999")], ms(9_999)),
        (&[(MILLIS, b"10001")], CAP),
        (&[(MILLIS, b"18446744073709551615")], CAP),
        (&[(MILLIS, b"99999999999999999999999999")], CAP),
        (&[(GRPC, b"99999999H")], CAP),
        (&[(MILLIS, b"50"), (GRPC, b"2S")], ms(50)),
        (&[(MILLIS, b"2000"), (GRPC, b"50m")], ms(50)),
        (&[(MILLIS, b"nonsense"), (GRPC, b"50m")], ms(50)),
        (&[(MILLIS, b"50"), (GRPC, b"nonsense")], ms(50)),
        (&[(MILLIS, b"50"), (MILLIS, b"50")], CAP),
        (&[(GRPC, b"50m"), (GRPC, b"1S")], CAP),
        (&[(MILLIS, b"")], CAP),
        (&[(MILLIS, b"-50")], CAP),
        (&[(MILLIS, b"50.5")], CAP),
        (&[(MILLIS, b"5 0")], CAP),
        (&[(MILLIS, "٥٠".as_bytes())], CAP),
        (&[(MILLIS, b"\xff")], CAP),
        (&[(GRPC, b"")], CAP),
        (&[(GRPC, b"1.5S")], CAP),
        (&[(GRPC, b"000000050m")], CAP),
        (&[(GRPC, b"50\xff")], CAP),
    ] {
        let seen = CAPPED.layer(clock()).oneshot(with(headers)).await;
        assert_eq!(sure(seen), Some(expected), "{headers:?}");
    }
    assert_eq!(left(), None, "it holds inside");
}

#[tokio::test(start_paused = true)]
async fn a_time_of_zero_has_passed_before_the_service_runs() {
    for (name, zero) in [(MILLIS, "0"), (GRPC, "0S")] {
        let sent = with(&[(name, zero.as_bytes())]);
        let seen = CAPPED.layer(clock()).oneshot(sent).await;
        assert_eq!(sure(seen), Some(Duration::ZERO));
    }
}

#[bulkhead(name = "headers-guarded", max = 1)]
async fn guarded() -> Result<Option<Duration>, BulkheadError> {
    Ok(left())
}

#[tokio::test(start_paused = true)]
async fn a_guarded_function_inside_has_what_is_left_and_no_more() {
    let service = CAPPED.layer(service_fn(|_: Request<()>| async {
        let at_once = guarded().await?;
        advance(ms(20)).await;
        Ok::<_, BulkheadError>([at_once, guarded().await?])
    }));
    let seen = service.oneshot(with(&[(MILLIS, b"50")])).await;
    let seen = seen.expect("there is room, and time");
    assert_eq!(seen, [Some(ms(50)), Some(ms(30))]);
}

#[tokio::test(start_paused = true)]
async fn the_time_counts_from_the_call_and_not_from_the_first_poll() {
    let mut service = CAPPED.layer(clock());
    let late = service.call(with(&[(MILLIS, b"50")]));
    advance(ms(20)).await;
    assert_eq!(sure(late.await), Some(ms(30)));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_holds_already_is_never_widened() {
    let mut service = CAPPED.layer(clock());
    let near = Deadline::after(ms(100));
    let (shorter, longer, elsewhere) = near
        .scope(async {
            let shorter = service.call(with(&[(MILLIS, b"50")])).await;
            let longer = service.call(with(&[(MILLIS, b"500")])).await;
            let elsewhere = tokio::spawn(service.call(with(&[])));
            (shorter, longer, elsewhere)
        })
        .await;
    assert_eq!((sure(shorter), sure(longer)), (Some(ms(50)), Some(ms(100))));
    let elsewhere = elsewhere.await.expect("no panic");
    assert_eq!(sure(elsewhere), Some(ms(100)), "in a task without a frame");
}

/// A service that may be called on the very instance that was asked whether it is ready, and once.
#[derive(Default)]
struct Particular {
    is_ready: bool,
}

impl Clone for Particular {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<B> Service<Request<B>> for Particular {
    type Response = HeaderMap;
    type Error = Infallible;
    type Future = Ready<Result<HeaderMap, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "it was not asked");
        ready(Ok(request.headers().clone()))
    }
}

#[tokio::test]
async fn the_service_that_was_ready_is_the_one_that_is_called() {
    let particular = Particular::default();
    let mut server = CAPPED.layer(particular.clone());
    let mut client = PropagateDeadlineLayer::new().layer(particular);
    for _ in 0..2 {
        sure(
            sure(ServiceExt::<Request<()>>::ready(&mut server).await)
                .call(with(&[]))
                .await,
        );
        sure(
            sure(ServiceExt::<Request<()>>::ready(&mut client).await)
                .call(with(&[]))
                .await,
        );
    }
    sure(server.clone().oneshot(with(&[])).await);
    sure(client.clone().oneshot(with(&[])).await);
}

#[tokio::test]
async fn a_service_that_is_not_ready_is_waited_for() {
    #[derive(Clone)]
    struct NeverReady;
    impl Service<Request<()>> for NeverReady {
        type Response = ();
        type Error = Infallible;
        type Future = Ready<Result<(), Infallible>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Pending
        }
        fn call(&mut self, _: Request<()>) -> Self::Future {
            unreachable!("it is never ready")
        }
    }
    let mut server = CAPPED.layer(NeverReady);
    assert!(poll_once(pin!(server.ready())).is_pending());
    let mut client = PropagateDeadlineLayer::new().layer(NeverReady);
    assert!(poll_once(pin!(client.ready())).is_pending());
}

#[tokio::test]
async fn a_service_that_panics_leaves_no_deadline_behind() {
    panics_on_purpose_are_silent();
    let mut early = CAPPED.layer(service_fn(
        |_: Request<()>| -> Ready<Result<(), Infallible>> {
            std::panic::panic_any(ON_PURPOSE.to_owned())
        },
    ));
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(early.call(with(&[])));
    }));
    assert!(unwound.is_err(), "it panics");
    assert_eq!(Deadline::current(), None);
}

#[tokio::test(start_paused = true)]
async fn a_layer_on_a_route_holds_for_that_route_and_one_on_a_router_for_all() {
    let text = || async { format!("{:?}", left()) };
    let inside = plain("headers-inside", 1);
    let short = DeadlineLayer::capped(ms(70));
    let router = Router::new()
        .route("/short", get(text).layer(short))
        .route("/both", get(text).layer(BulkheadLayer::new(inside)))
        .layer(CAPPED)
        .route("/none", get(text));
    for (path, expected) in [
        ("/short", "Some(70ms)"),
        ("/both", "Some(10s)"),
        ("/none", "None"),
    ] {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = sure(router.clone().oneshot(request).await);
        assert_eq!(text_of(response.into_body()).await, expected, "{path}");
    }
    assert_eq!(inside.snapshot().outcomes.success, 1);
}

#[test]
#[should_panic = "`capped` takes at least 1 ms"]
fn a_cap_of_no_time_is_refused() {
    let _ = DeadlineLayer::capped(Duration::from_micros(999));
}

#[test]
#[should_panic = "`capped` is too long: the limit is 365 days"]
fn a_cap_without_an_end_is_refused() {
    let _ = DeadlineLayer::capped(Duration::MAX);
}

/// What a server would see of a request that is made with this much time left.
async fn told(layer: PropagateDeadlineLayer, time: Duration, own: &[Sent]) -> HeaderMap {
    let client = layer.layer(Particular::default());
    let told = Deadline::after(time).scope(client.oneshot(with(own)));
    sure(told.await)
}

#[tokio::test(start_paused = true)]
async fn a_server_is_told_what_is_left_and_never_more() {
    let plain = PropagateDeadlineLayer::new();
    for (layer, time, millis, grpc) in [
        (plain, ms(1_500), "1500", "1500000u"),
        (plain, Duration::from_nanos(1_999_999), "1", "1999999n"),
        (plain, Duration::from_nanos(999_999), "0", "999999n"),
        (plain, Duration::ZERO, "0", "1n"),
        (
            plain,
            Duration::from_secs(365 * 86_400),
            "31536000000",
            "31536000S",
        ),
        (plain.margin(ms(30)), ms(150), "120", "120000u"),
        (plain.margin(ms(30)), ms(30), "0", "1n"),
        (plain.margin(ms(30)), ms(10), "0", "1n"),
        (plain.margin(Duration::MAX), ms(10), "0", "1n"),
    ] {
        let headers = told(layer, time, &[]).await;
        assert_eq!(headers[MILLIS], millis, "{layer:?}, {time:?}");
        assert!(!headers.contains_key(GRPC), "one header is enough");
        let headers = told(layer.grpc(), time, &[]).await;
        assert_eq!(headers[GRPC], grpc, "{layer:?}, {time:?}");
        assert!(!headers.contains_key(MILLIS), "one header is enough");
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_of_the_callers_own_stays_only_if_it_is_not_longer() {
    let layer = PropagateDeadlineLayer::new();
    let owns: [(&[Sent], &str); 6] = [
        (&[(MILLIS, b"50")], "50"),
        (&[(MILLIS, b"0100")], "0100"),
        (&[(MILLIS, b"101")], "100"),
        (&[(MILLIS, b"0")], "0"),
        (&[(MILLIS, b"soon")], "100"),
        (&[(MILLIS, b"50"), (MILLIS, b"500")], "100"),
    ];
    for (own, expected) in owns {
        let headers = told(layer, ms(100), own).await;
        let all: Vec<_> = headers.get_all(MILLIS).iter().collect();
        assert_eq!(all, [expected], "{own:?}");
    }
    for (own, expected) in [(b"50m" as &'static [u8], "50m"), (b"1S", "100000u")] {
        let headers = told(layer.grpc(), ms(100), &[(GRPC, own)]).await;
        assert_eq!(headers[GRPC], expected);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_nothing_is_added_and_nothing_is_changed() {
    for layer in [
        PropagateDeadlineLayer::new(),
        PropagateDeadlineLayer::new().grpc().margin(ms(5)),
    ] {
        let mut client = layer.layer(Particular::default());
        for own in [
            &[] as &[Sent],
            &[(MILLIS, b"86400000"), (GRPC, b"24H")],
            &[(MILLIS, b"nonsense"), (GRPC, b"nonsense")],
        ] {
            let request = with(own);
            let before = request.headers().clone();
            let client = sure(ServiceExt::<Request<()>>::ready(&mut client).await);
            assert_eq!(sure(client.call(request).await), before);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_told_what_is_left_by_then() {
    let client = PropagateDeadlineLayer::new().layer(Particular::default());
    let attempts = async {
        let mut told = Vec::new();
        for _ in 0..3 {
            let headers = sure(client.clone().oneshot(with(&[])).await);
            told.push(headers[MILLIS].to_str().expect("digits").to_owned());
            advance(ms(60)).await;
        }
        told
    };
    let told = Deadline::after(ms(100)).scope(attempts).await;
    assert_eq!(told, ["100", "40", "0"]);
}

#[tokio::test(start_paused = true)]
async fn a_proxy_of_both_layers_passes_on_what_is_left() {
    // The inner one looks before there is a future to be polled in a scope.
    let proxy = ServiceBuilder::new()
        .layer(CAPPED)
        .layer(PropagateDeadlineLayer::new().margin(ms(20)))
        .service(Particular::default());
    for (asked, passed_on) in [
        (&[] as &[Sent], "9980"),
        (&[(MILLIS, b"500")], "480"),
        (&[(MILLIS, b"60000")], "9980"),
        (&[(GRPC, b"1S")], "980"),
        (&[(MILLIS, b"0")], "0"),
    ] {
        let headers = sure(proxy.clone().oneshot(with(asked)).await);
        assert_eq!(headers[MILLIS], passed_on, "{asked:?}");
    }
}

async fn text_of(body: impl http_body::Body<Data: Send, Error: std::fmt::Debug>) -> String {
    let body = body.collect().await.expect("the whole body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

/// What a handler says over the wire: the header that it got, and the nanoseconds that were left.
async fn told_and_left(headers: HeaderMap) -> String {
    let told = headers
        .get(MILLIS)
        .map_or("-", |it| it.to_str().expect("ASCII"));
    let left = left().expect("there is a layer before it").as_nanos();
    format!("{told} {left}")
}

fn parsed(text: &str) -> (Option<Duration>, Duration) {
    let (told, left) = text.split_once(' ').expect("two words");
    let left = left.parse().map(Duration::from_nanos).expect("a number");
    (told.parse().map(ms).ok(), left)
}

async fn text_from(server: SocketAddr, http2: bool, header: &str) -> String {
    let mut request = request(server, "/", "");
    let value = HeaderValue::from_str(header).expect("it may be sent");
    request.headers_mut().insert(MILLIS, value);
    let answer = soon("an answer", client(http2).request(request)).await;
    text_of(answer.expect("an answer").into_body()).await
}

#[tokio::test]
async fn a_stranger_on_the_wire_cannot_lengthen_its_time() {
    let router = Router::new().route("/", post(told_and_left)).layer(CAPPED);
    let server = serve(router).await;
    for http2 in [false, true] {
        for (header, at_most) in [
            ("5000", ms(5_000)),
            ("3600000", CAP),
            ("-1", CAP),
            ("1e9", CAP),
            ("0", Duration::ZERO),
        ] {
            let (_, left) = parsed(&text_from(server, http2, header).await);
            assert!(left <= at_most, "{header}: {left:?} are left");
        }
    }
}

#[tokio::test]
async fn the_second_of_two_servers_has_less_time_than_the_first() {
    let margin = ms(100);
    // B would give a whole minute to whoever does not ask for less.
    let minute = DeadlineLayer::capped(Duration::from_secs(60));
    let b = serve(Router::new().route("/", post(told_and_left)).layer(minute)).await;

    let hop = PropagateDeadlineLayer::new()
        .margin(margin)
        .layer(client(false));
    let a = Router::new()
        .route(
            "/",
            post(move || async move {
                let had = left().expect("there is a layer before it").as_nanos();
                let answer = hop.oneshot(request(b, "/", "")).await.expect("an answer");
                format!("{had} {}", text_of(answer.into_body()).await)
            }),
        )
        .layer(CAPPED);
    let a = serve(a).await;
    for header in ["5000", "3600000"] {
        let text = text_from(a, false, header).await;
        let (had, of_b) = text.split_once(' ').expect("three words");
        let had = had.parse().map(Duration::from_nanos).expect("a number");
        let (told, left) = parsed(of_b);
        let told = told.expect("A tells B");
        assert!(told <= had.saturating_sub(margin), "{told:?} of {had:?}");
        assert!(left <= told, "{left:?} of {told:?}");
    }
}
