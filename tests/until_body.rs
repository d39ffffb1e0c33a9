//! A permit that stays until the body of the response has ended: in memory, and over real sockets.

mod common;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use axum::routing::get;
use bulkhead_runtime::tower::HeldBody;
use bulkhead_runtime::{
    BreakerPolicy, BulkheadError, BulkheadLayer, CallTimeout, Outcomes, Partition, Policy, Verdict,
    register,
};
use common::wire::{client, in_flight, request, serve, soon, until};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, plain, queued};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// A body whose frames the test sends one by one; it ends when the sender is gone.
struct Chunks(mpsc::Receiver<Result<Frame<Bytes>, BoxError>>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.poll_recv(cx)
    }
}

type Sender = mpsc::Sender<Result<Frame<Bytes>, BoxError>>;

/// A service with one response, which streams what the test sends.
fn one_stream() -> (
    Sender,
    impl Service<(), Response = Response<Body>, Error = Infallible, Future: Send> + Clone,
) {
    one_stream_after(Response::new(()))
}

fn one_stream_after(
    head: Response<()>,
) -> (
    Sender,
    impl Service<(), Response = Response<Body>, Error = Infallible, Future: Send> + Clone,
) {
    let (sender, receiver) = mpsc::channel(4);
    let response = head.map(|()| Body::new(Chunks(receiver)));
    let response = Arc::new(Mutex::new(Some(response)));
    let service = service_fn(move |()| {
        let response = response.try_lock().expect("one call at a time").take();
        ready(Ok(response.expect("it has one response")))
    });
    (sender, service)
}

/// A body that has all of its frames, and does not say beforehand that one is the last.
struct Frames(VecDeque<Frame<Bytes>>);

impl Frames {
    fn of(texts: &[&'static str]) -> Self {
        Self(texts.iter().map(|text| chunk(text)).collect())
    }
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn status(code: &str) -> HeaderMap {
    HeaderMap::from_iter([(
        HeaderName::from_static("grpc-status"),
        code.parse().expect("a value"),
    )])
}

fn chunk(text: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(text.as_bytes()))
}

const LONG: Duration = Duration::from_secs(60);

/// The response of a stream whose permit stays until its body has ended.
async fn held(partition: &'static Partition) -> (Sender, Response<HeldBody<Body>>) {
    let (sender, service) = one_stream();
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let response = layer.layer(service).oneshot(()).await;
    (sender, response.unwrap_or_else(|never| match never {}))
}

fn is_late(error: &BoxError) -> bool {
    matches!(error.downcast_ref(), Some(BulkheadError::CallTimeout(_)))
}

#[tokio::test]
async fn a_response_is_done_at_its_head_unless_the_layer_says_otherwise() {
    let partition = plain("wire-head", 1);
    let (_sender, service) = one_stream();
    let response = BulkheadLayer::new(partition)
        .layer(service)
        .oneshot(())
        .await;
    assert_idle(partition);
    drop(response);
}

#[tokio::test]
async fn a_permit_stays_until_the_body_has_ended() {
    let partition = plain("wire-ended", 1);
    let (sender, response) = held(partition).await;
    let mut body = response.into_body();
    for text in ["one", "two"] {
        sender
            .send(Ok(chunk(text)))
            .await
            .expect("the body is there");
        let frame = body.frame().await.expect("a frame").expect("of data");
        assert_eq!(frame.into_data().ok().as_deref(), Some(text.as_bytes()));
        assert_eq!(partition.snapshot().in_flight, 1, "the body goes on");
    }
    drop(sender);
    assert!(body.frame().await.is_none(), "it has ended");
    assert!(body.is_end_stream());
    assert_eq!(partition.snapshot().outcomes.success, 1);
    // With the body still there.
    assert_idle(partition);
    drop(body);
    assert_eq!(partition.snapshot().outcomes.cancelled, 0, "it had ended");
}

#[tokio::test]
async fn a_body_that_is_dropped_is_a_cancelled_call() {
    let partition = plain("wire-dropped", 1);
    let (sender, response) = held(partition).await;
    sender
        .send(Ok(chunk("one")))
        .await
        .expect("the body is there");
    let mut body = response.into_body();
    body.frame().await.expect("a frame").expect("of data");
    drop(body);
    assert!(sender.is_closed(), "the body inside is gone");
    assert_eq!(partition.snapshot().outcomes.cancelled, 1);
    assert_idle(partition);
}

#[tokio::test]
async fn a_body_that_fails_is_a_failure() {
    let partition = plain("wire-fails", 1);
    let (sender, response) = held(partition).await;
    sender
        .send(Err("the disk is gone".into()))
        .await
        .expect("the body is there");
    let mut body = response.into_body();
    let error = body
        .frame()
        .await
        .expect("a frame")
        .expect_err("of an error");
    assert!(error.to_string().contains("the disk is gone"), "{error}");
    assert_eq!(partition.snapshot().outcomes.failure, 1);
    assert_idle(partition);
}

#[tokio::test]
async fn trailers_that_tell_of_a_failure_are_one() {
    // Neither 17 nor nothing is a code: clients take it for UNKNOWN.
    for (code, failures) in [("0", 0), ("5", 0), ("13", 1), ("14", 1), ("17", 1), ("", 1)] {
        let partition = plain(&format!("wire-trailers-{code}"), 1);
        let (sender, response) = held(partition).await;
        sender
            .send(Ok(Frame::trailers(status(code))))
            .await
            .expect("the body is there");
        drop(sender);
        response.into_body().collect().await.expect("it ends well");
        assert_eq!(partition.snapshot().outcomes.failure, failures, "{code}");
        assert_idle(partition);
    }
}

#[tokio::test]
async fn trailers_take_nothing_back_that_the_head_has_said() {
    for (verdict, code) in [(Verdict::Failure, "0"), (Verdict::Ignored, "13")] {
        let partition = plain(&format!("wire-taken-back-{code}"), 1);
        let service = service_fn(move |()| {
            let frames = Frames([Frame::trailers(status(code))].into());
            ready(Ok::<_, BoxError>(Response::new(frames)))
        });
        let layer = BulkheadLayer::new(partition)
            .as_error()
            .classify(move |_: &Result<Response<Frames>, BoxError>| verdict)
            .until_body(LONG);
        let response = layer
            .layer(service)
            .oneshot(())
            .await
            .expect("there is room");
        response.into_body().collect().await.expect("it ends well");
        let outcomes = partition.snapshot().outcomes;
        let counted = match verdict {
            Verdict::Failure => outcomes.failure,
            _ => outcomes.ignored,
        };
        assert_eq!((counted, outcomes.total()), (1, 1), "{outcomes:?}");
    }
}

#[tokio::test]
async fn trailers_are_the_end_of_a_body_that_does_not_say_so() {
    let partition = plain("wire-trailers-end", 1);
    let (sender, response) = held(partition).await;
    sender
        .send(Ok(Frame::trailers(status("0"))))
        .await
        .expect("the body is there");
    let mut body = response.into_body();
    let frame = body.frame().await.expect("a frame").expect("of trailers");
    assert!(frame.is_trailers());
    assert_eq!(partition.snapshot().outcomes.success, 1);
    // With the body and its sender still there.
    assert_idle(partition);
    assert!(body.is_end_stream() && body.frame().await.is_none());
}

#[tokio::test]
async fn a_failure_stays_one_whether_its_body_is_read_or_not() {
    let partition = plain("wire-unread-failure", 1);
    let router = Router::new().route(
        "/",
        get(|| async {
            (
                StatusCode::BAD_GATEWAY,
                Body::new(Frames::of(&["oh", "no"])),
            )
        }),
    );
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let request = Request::get("/").body(Body::empty()).expect("a request");
    let response = router.layer(layer).oneshot(request).await;
    let response = response.unwrap_or_else(|never| match never {});
    assert_eq!((response.status().as_u16(), in_flight(partition)), (502, 1));
    drop(response);
    let outcomes = partition.snapshot().outcomes;
    assert_eq!((outcomes.failure, outcomes.cancelled), (1, 0));
    assert_idle(partition);
}

/// How a call was counted that a client made over a socket, and whose response it read to its end.
async fn counted<S>(
    partition: &'static Partition,
    http2: bool,
    method: Method,
    service: S,
) -> Outcomes
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
{
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let server = serve(Router::new().route_service("/", layer.layer(service))).await;
    let mut request = request(server, "/", Body::empty());
    *request.method_mut() = method;
    let response = soon("an answer", client(http2).request(request)).await;
    let body = response.expect("an answer").into_body();
    soon("its end", body.collect()).await.expect("it ends well");
    until("the permit comes back", || in_flight(partition) == 0).await;
    // Before the permits that `assert_idle` takes count as well.
    let outcomes = partition.snapshot().outcomes;
    assert_idle(partition);
    outcomes
}

#[tokio::test]
async fn a_download_of_an_announced_length_is_a_success_when_all_of_it_has_come() {
    for http2 in [false, true] {
        let partition = plain(&format!("wire-announced-{http2}"), 1);
        let download = service_fn(|_| async {
            let response = Response::builder().header("content-length", "6");
            Ok(response
                .body(Body::new(Frames::of(&["one", "two"])))
                .expect("a response"))
        });
        let outcomes = counted(partition, http2, Method::GET, download).await;
        assert_eq!(
            (outcomes.success, outcomes.cancelled),
            (1, 0),
            "HTTP/2: {http2}"
        );
    }
}

#[tokio::test]
async fn a_head_whose_length_alone_was_asked_for_is_no_cancelled_call() {
    let fine = service_fn(|_| ready(Ok(Response::new(Body::from("hello")))));
    let unchanged = service_fn(|_| {
        let mut response = Response::new(Body::from("hello"));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        ready(Ok(response))
    });
    let endless = service_fn(|_| ready(Ok(Response::new(Body::new(Frames::of(&["one", "two"]))))));
    // Over HTTP/1; over HTTP/2 it is the service that has to leave the body out.
    let partition = plain("wire-head-method", 1);
    let outcomes = counted(partition, false, Method::HEAD, fine).await;
    assert_eq!((outcomes.success, outcomes.cancelled), (1, 0));

    let partition = plain("wire-304", 1);
    let outcomes = counted(partition, false, Method::GET, unchanged).await;
    assert_eq!((outcomes.success, outcomes.cancelled), (1, 0));

    let partition = plain("wire-head-unknown", 1);
    let outcomes = counted(partition, false, Method::HEAD, endless).await;
    assert_eq!(
        (outcomes.success, outcomes.cancelled),
        (0, 1),
        "without a length it cannot be told from a client that has left"
    );
}

#[tokio::test]
async fn trailers_count_over_a_socket_too() {
    for (http2, code, failures) in [
        (false, "0", 0),
        (false, "13", 1),
        (true, "0", 0),
        (true, "13", 1),
    ] {
        let partition = plain(&format!("wire-socket-trailers-{http2}-{code}"), 1);
        let service = service_fn(move |_| async move {
            let mut frames = Frames::of(&["one"]);
            frames.0.push_back(Frame::trailers(status(code)));
            let response = Response::builder().header("trailer", "grpc-status");
            Ok(response.body(Body::new(frames)).expect("a response"))
        });
        let outcomes = counted(partition, http2, Method::GET, service).await;
        assert_eq!(
            (outcomes.success, outcomes.failure),
            (1 - failures, failures),
            "HTTP/2: {http2}, {code}: {outcomes:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_nobody_polls_loses_its_permit_in_time() {
    let partition = plain("wire-unpolled", 1);
    let (sender, response) = held(partition).await;
    tokio::time::sleep(LONG.saturating_sub(ms(1))).await;
    assert_eq!(partition.snapshot().in_flight, 1);
    tokio::time::sleep(ms(2)).await;
    assert!(sender.is_closed(), "the body inside is gone");
    assert_eq!(partition.snapshot().outcomes.timed_out, 1);
    assert_idle(partition);
    let mut body = response.into_body();
    assert_eq!(body.size_hint().lower(), 0);
    assert!(!body.is_end_stream(), "cut off is not ended");
    let error = body
        .frame()
        .await
        .expect("a frame")
        .expect_err("of an error");
    assert!(is_late(&error), "{error}");
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_waits_for_a_late_body_is_woken() {
    let partition = plain("wire-woken", 1);
    let (_sender, response) = held(partition).await;
    let start = Instant::now();
    let error = tokio::time::timeout(2 * LONG, response.into_body().collect())
        .await
        .expect("it ends")
        .expect_err("nothing comes");
    assert!(is_late(&error), "{error}");
    assert!(
        start.elapsed() < LONG + ms(10),
        "woken, and not found out later: {:?}",
        start.elapsed()
    );
    assert_eq!(partition.snapshot().outcomes.timed_out, 1);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_late_body_tells_how_long_its_call_had_waited() {
    async fn late(partition: &'static Partition) -> CallTimeout {
        let (_sender, response) = held(partition).await;
        let ended = tokio::time::timeout(2 * LONG, response.into_body().collect()).await;
        let error = ended.expect("it ends");
        match error
            .map(drop)
            .map_err(|error| *error.downcast().expect("it is late"))
        {
            Err(BulkheadError::CallTimeout(late)) => late,
            other => panic!("it is late: {other:?}"),
        }
    }
    let partition = queued("wire-waited", 1, 1, ms(500));
    let error = late(partition).await;
    assert_eq!((error.waited(), error.timeout()), (ms(0), LONG), "{error}");
    let permit = partition.try_enter().expect("it is free");
    tokio::spawn(async {
        tokio::time::sleep(ms(100)).await;
        drop(permit);
    });
    let error = late(partition).await;
    assert_eq!(
        (error.waited(), error.timeout()),
        (ms(100), LONG),
        "{error}"
    );
}

#[tokio::test]
async fn a_body_of_nothing_ends_with_its_head() {
    let partition = plain("wire-nothing", 1);
    let router = Router::new()
        .route("/", get(|| async { StatusCode::NO_CONTENT }))
        .layer(BulkheadLayer::new(partition).until_body(LONG));
    let request = Request::get("/").body(Body::empty()).expect("a request");
    let response = router.oneshot(request).await;
    assert_idle(partition);
    drop(response);
}

#[tokio::test]
async fn a_body_keeps_its_length() {
    let partition = plain("wire-length", 1);
    let service = service_fn(|()| ready(Ok::<_, Infallible>(Response::new(Body::from("12345")))));
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let response = layer.layer(service).oneshot(()).await;
    let body = response.unwrap_or_else(|never| match never {}).into_body();
    assert_eq!(body.size_hint().exact(), Some(5));
    assert_eq!(body.collect().await.expect("it ends").to_bytes(), "12345");
    assert_eq!(partition.snapshot().outcomes.success, 1);
    assert_idle(partition);
}

#[tokio::test]
async fn a_panic_in_a_body_is_counted_and_gives_the_permit_back() {
    struct Panics;
    impl http_body::Body for Panics {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            std::panic::panic_any(ON_PURPOSE.to_owned())
        }
    }
    panics_on_purpose_are_silent();
    let partition = plain("wire-panics", 1);
    let service = service_fn(|()| ready(Ok::<_, Infallible>(Response::new(Body::new(Panics)))));
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let response = layer.layer(service).oneshot(()).await;
    let body = response.unwrap_or_else(|never| match never {}).into_body();
    tokio::spawn(body.collect()).await.expect_err("it panics");
    assert_eq!(partition.snapshot().outcomes.panicked, 1);
    assert_idle(partition);
}

#[tokio::test]
async fn a_client_that_stops_reading_does_not_keep_its_permit() {
    /// A thousand pieces of 64 KiB: more than what lies between two sockets.
    struct Pieces(usize);
    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            static PIECE: [u8; 64 << 10] = [7; 64 << 10];
            self.0 += 1;
            Poll::Ready((self.0 <= 1_000).then(|| Ok(Frame::data(Bytes::from_static(&PIECE)))))
        }
    }
    const WHOLE: usize = 1_000 * (64 << 10);
    let partition = plain("wire-stops-reading", 1);
    let router = Router::new()
        .route("/", get(|| async { Body::new(Pieces(0)) }))
        .layer(BulkheadLayer::new(partition).until_body(ms(300)));
    let server = serve(router).await;
    let mut stalled = TcpStream::connect(server).await.expect("a connection");
    stalled
        .write_all(b"GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")
        .await
        .expect("it is sent");
    until("the download begins", || {
        partition.snapshot().in_flight == 1
    })
    .await;
    let mut head = [0; 64];
    stalled.read_exact(&mut head).await.expect("the head comes");
    assert!(head.starts_with(b"HTTP/1.1 200 OK"));
    // From here on nobody reads, and the server cannot write: nobody polls the body.
    until("the permit comes back", || {
        partition.snapshot().outcomes.timed_out == 1
    })
    .await;
    assert_idle(partition);
    // What was on its way still comes, and then the connection is cut.
    let mut rest = Vec::new();
    // Whether that is an error of the socket is up to it.
    drop(soon("the end", stalled.read_to_end(&mut rest)).await);
    assert!(rest.len() < WHOLE, "cut off: {} bytes", rest.len());
    assert!(
        !rest.ends_with(b"\r\n0\r\n\r\n"),
        "and not passed off as whole"
    );
}

#[tokio::test]
async fn a_client_that_hangs_up_in_a_download_gives_its_permit_back() {
    let partition = plain("wire-hangs-up", 1);
    let (sender, service) = one_stream();
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let router = Router::new().route_service(
        "/",
        service_fn(move |_: Request<Body>| service.clone().oneshot(())),
    );
    let server = serve(router.layer(layer)).await;
    let mut leaves = TcpStream::connect(server).await.expect("a connection");
    leaves
        .write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
        .await
        .expect("it is sent");
    sender
        .send(Ok(chunk("one")))
        .await
        .expect("the body is there");
    let mut head = [0; 15];
    leaves.read_exact(&mut head).await.expect("the head comes");
    assert_eq!(partition.snapshot().in_flight, 1, "the body goes on");
    drop(leaves);
    until("the permit comes back", || {
        partition.snapshot().outcomes.cancelled == 1
    })
    .await;
    assert_idle(partition);
}

#[tokio::test]
async fn a_body_that_is_dropped_before_its_announced_length_is_a_cancelled_call() {
    let partition = plain("wire-dropped-early", 1);
    let head = Response::builder().header("content-length", "6").body(());
    let (sender, service) = one_stream_after(head.expect("a head"));
    let layer = BulkheadLayer::new(partition).until_body(LONG);
    let response = layer.layer(service).oneshot(()).await;
    let mut body = response.unwrap_or_else(|never| match never {}).into_body();
    sender
        .send(Ok(chunk("one")))
        .await
        .expect("the body is there");
    body.frame().await.expect("a frame").expect("of data");
    drop(body);
    assert_eq!(partition.snapshot().outcomes.cancelled, 1);
    assert_idle(partition);
}

/// It calls slow what takes 20 ms.
fn watched(name: &str) -> &'static Partition {
    let breaker = BreakerPolicy::new()
        .with_slow(ms(20))
        .with_min_calls(100)
        .with_window(Duration::from_secs(3_600));
    register(name, Policy::new(1).with_breaker(breaker)).expect("a name of its own")
}

/// Calls, failures and slow calls that its breaker has seen.
fn seen(partition: &Partition) -> (u64, u64, u64) {
    let seen = partition.breaker().expect("it has one").snapshot();
    (seen.calls, seen.failures, seen.slow)
}

#[tokio::test(start_paused = true)]
async fn a_breaker_hears_of_a_body_once_at_its_end_and_calls_no_download_slow() {
    let partition = watched("wire-watched-long");
    let (sender, response) = held(partition).await;
    tokio::time::advance(LONG * 9 / 10).await;
    assert_eq!(seen(partition), (0, 0, 0), "it goes on");
    drop(sender);
    response.into_body().collect().await.expect("it ends well");
    assert_eq!(seen(partition), (1, 0, 0));

    // What is slow is the head.
    let late = service_fn(|()| async {
        tokio::time::sleep(ms(20)).await;
        Ok::<_, Infallible>(Response::new(Frames::of(&["one"])))
    });
    let layer = BulkheadLayer::new(partition)
        .reject(|_| unreachable!("there is room"))
        .until_body(LONG);
    let response = layer.layer(late).oneshot(()).await;
    let response = response.unwrap_or_else(|never| match never {});
    response.into_body().collect().await.expect("it ends well");
    assert_eq!(seen(partition), (2, 0, 1));
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn the_verdict_of_trailers_of_an_error_and_of_a_cut_off_body_reaches_the_breaker_once() {
    let partition = watched("wire-watched-ends");
    let send = |frame| async {
        let (sender, response) = held(partition).await;
        sender.send(frame).await.expect("the body is there");
        drop(sender);
        response.into_body().collect().await.map(drop)
    };
    send(Ok(Frame::trailers(status("13"))))
        .await
        .expect("it ends well");
    assert_eq!(seen(partition), (1, 1, 0));
    send(Ok(Frame::trailers(status("5"))))
        .await
        .expect("it ends well");
    assert_eq!(seen(partition), (2, 1, 0));
    send(Err("the disk is gone".into()))
        .await
        .expect_err("it fails");
    assert_eq!(seen(partition), (3, 2, 0));

    let (_sender, response) = held(partition).await;
    tokio::time::sleep(LONG + ms(1)).await;
    assert_eq!(
        seen(partition),
        (3, 2, 0),
        "cut off: how long it takes is for its client to say"
    );
    response
        .into_body()
        .collect()
        .await
        .expect_err("it was cut off");
    assert_eq!(seen(partition), (3, 2, 0), "once");

    let (_sender, response) = held(partition).await;
    tokio::time::advance(LONG / 2).await;
    drop(response);
    assert_eq!(
        seen(partition),
        (3, 2, 0),
        "that its client leaves says nothing"
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_a_failure_is_one_for_the_breaker_however_its_body_ends() {
    let partition = watched("wire-watched-head");
    for (ends, failures) in [(true, 1), (false, 2)] {
        let head = Response::builder().status(502).body(()).expect("a head");
        let (sender, service) = one_stream_after(head);
        let layer = BulkheadLayer::new(partition).until_body(LONG);
        let response = layer.layer(service).oneshot(()).await;
        let response = response.unwrap_or_else(|never| match never {});
        assert_eq!(seen(partition).1, failures - 1, "its body is still to come");
        if ends {
            drop(sender);
            response.into_body().collect().await.expect("it ends well");
        } else {
            drop(response);
        }
        assert_eq!(seen(partition), (failures, failures, 0));
    }
    assert_idle(partition);
}
