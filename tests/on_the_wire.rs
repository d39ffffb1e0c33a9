//! The layer over real sockets: what is read, what idles, what streams, and who comes back when.

mod common;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use axum::routing::{get, post};
use bulkhead_runtime::tower::HeldBody;
use bulkhead_runtime::{BulkheadError, BulkheadLayer, Partition};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, plain};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceExt, layer::layer_fn, service_fn};

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn client(http2: bool) -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new())
        .http2_only(http2)
        .build_http()
}

fn request(to: SocketAddr, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("http://{to}{path}"))
        .body(body.into())
        .expect("a request")
}

/// Waits until it is so, which the other side of a socket brings about; a failure is a hang that ends.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while !is_so() {
            tokio::time::sleep(ms(1)).await;
        }
    });
    assert!(waited.await.is_ok(), "never came: {what}");
}

/// Counts the bytes that anybody reads of a request's body.
struct CountedBody {
    body: Body,
    read: Arc<AtomicUsize>,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            self.read.fetch_add(bytes, Ordering::SeqCst);
        }
        polled
    }
}

#[tokio::test]
async fn four_megabytes_are_rejected_before_one_byte_of_them_is_read() {
    const SIZE: usize = 4 << 20;
    let partition = plain("wire-four-megabytes", 1);
    let read = Arc::new(AtomicUsize::new(0));
    let counting = {
        let read = Arc::clone(&read);
        layer_fn(move |inner: axum::routing::Route| {
            let read = Arc::clone(&read);
            service_fn(move |request: Request<Body>| {
                let read = Arc::clone(&read);
                let request = request.map(|body| Body::new(CountedBody { body, read }));
                inner.clone().oneshot(request)
            })
        })
    };
    let router = Router::new()
        .route(
            "/import",
            post(|body: Bytes| async move { body.len().to_string() }),
        )
        .layer(axum::extract::DefaultBodyLimit::max(SIZE))
        .layer(BulkheadLayer::new(partition))
        .layer(counting);
    let server = serve(router).await;
    let client = client(false);

    let response = client
        .request(request(server, "/import", vec![7; SIZE]))
        .await
        .expect("an answer");
    assert_eq!(response.status(), 200);
    assert_eq!(
        read.swap(0, Ordering::SeqCst),
        SIZE,
        "admitted: read to the end"
    );

    let permit = partition.try_enter().expect("it is free");
    let response = client
        .request(request(server, "/import", vec![7; SIZE]))
        .await
        .expect("an answer");
    assert_eq!(response.status(), 503);
    assert_eq!(read.load(Ordering::SeqCst), 0, "rejected: nothing was read");
    drop(permit);
    assert_idle(partition);
}

#[tokio::test]
async fn connections_that_idle_hold_nothing() {
    let partition = plain("wire-idle", 1);
    let router = Router::new()
        .route("/", post(|| async { "fine" }))
        .layer(BulkheadLayer::new(partition));
    let server = serve(router).await;
    // Each client keeps its connection: with one permit, none of them can have kept it.
    let clients: Vec<_> = (0..20).map(|at| client(at % 2 == 0)).collect();
    for _ in 0..3 {
        for client in &clients {
            let response = client
                .request(request(server, "/", Body::empty()))
                .await
                .expect("an answer");
            assert_eq!(response.status(), 200);
            response.into_body().collect().await.expect("a body");
        }
    }
    assert_idle(partition);
    assert_eq!(
        partition.snapshot().rejected.full,
        1,
        "by `assert_idle` itself"
    );
}

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
    let (sender, receiver) = mpsc::channel(4);
    let response = Response::new(Body::new(Chunks(receiver)));
    let response = Arc::new(Mutex::new(Some(response)));
    let service = service_fn(move |()| {
        let response = response.try_lock().expect("one call at a time").take();
        ready(Ok(response.expect("it has one response")))
    });
    (sender, service)
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
    for (code, failures) in [("0", 0), ("5", 0), ("13", 1), ("14", 1)] {
        let partition = plain(&format!("wire-trailers-{code}"), 1);
        let (sender, response) = held(partition).await;
        let mut trailers = axum::http::HeaderMap::new();
        trailers.insert("grpc-status", code.parse().expect("a value"));
        sender
            .send(Ok(Frame::trailers(trailers)))
            .await
            .expect("the body is there");
        drop(sender);
        response.into_body().collect().await.expect("it ends well");
        assert_eq!(partition.snapshot().outcomes.failure, failures, "{code}");
        assert_idle(partition);
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
    let error = response
        .into_body()
        .collect()
        .await
        .expect_err("nothing comes");
    assert!(is_late(&error), "{error}");
    assert_eq!(partition.snapshot().outcomes.timed_out, 1);
    assert_idle(partition);
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
        .write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
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
    let received = stalled.read_to_end(&mut rest).await;
    assert!(
        received.is_err() || rest.len() < WHOLE,
        "cut off, and not passed off as whole"
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

/// A server of ten permits whose calls take 100 ms, and a proxy before it that retries a 5xx twice, as
/// Envoy does with `retry_on: 5xx`: at once, and not if the response says `x-envoy-ratelimited`.
fn behind_a_retrying_proxy(
    partition: &'static Partition,
    is_marked: bool,
) -> (
    Arc<AtomicUsize>,
    impl Service<(), Response = Response<Body>, Error = Infallible, Future: Send> + Clone,
) {
    let calls = service_fn(|()| async {
        tokio::time::sleep(ms(100)).await;
        Ok::<_, Infallible>(Response::new(Body::from("fine")))
    });
    let layer = BulkheadLayer::new(partition);
    let server = if is_marked {
        BoxCloneSyncService::new(layer.envoy_ratelimited().layer(calls))
    } else {
        BoxCloneSyncService::new(layer.layer(calls))
    };
    let arrivals = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&arrivals);
    let proxy = service_fn(move |()| {
        let (server, noted) = (server.clone(), Arc::clone(&noted));
        async move {
            let mut response;
            let mut attempts = 0;
            loop {
                noted.fetch_add(1, Ordering::SeqCst);
                response = server.clone().oneshot(()).await?;
                attempts += 1;
                let retries = response.status().is_server_error()
                    && !response.headers().contains_key("x-envoy-ratelimited");
                if !retries || attempts == 3 {
                    return Ok(response);
                }
            }
        }
    });
    (arrivals, proxy)
}

/// Ten thousand requests in a second, for a server that serves a hundred; each that is rejected comes back
/// once, when it was told to. Gives when they came back, and the attempts that the server saw for a
/// hundred requests.
async fn storm(partition: &'static Partition, is_marked: bool) -> (Vec<Duration>, usize) {
    const CLIENTS: u32 = 10_000;
    fastrand::seed(7);
    let (arrivals, proxy) = behind_a_retrying_proxy(partition, is_marked);
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for at in 0..CLIENTS {
        let proxy = proxy.clone();
        clients.spawn(async move {
            tokio::time::sleep(Duration::from_secs(1) * at / CLIENTS).await;
            let response = proxy.clone().oneshot(()).await;
            let response = response.unwrap_or_else(|never| match never {});
            let back = response.headers().get("retry-after")?;
            let seconds: u64 = back.to_str().ok()?.parse().ok()?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let back = start.elapsed();
            drop(proxy.oneshot(()).await);
            Some(back)
        });
    }
    let back: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let requests = CLIENTS as usize + back.len();
    let attempts = 100 * arrivals.load(Ordering::SeqCst);
    (back, attempts.div_ceil(requests))
}

#[tokio::test(start_paused = true)]
async fn a_retrying_proxy_does_not_multiply_a_rejection() {
    let (_, attempts) = storm(plain("wire-proxy-marked", 10), true).await;
    assert!(attempts <= 105, "{attempts} attempts for 100 requests");
    // That the proxy does retry what it is not told about.
    let (_, attempts) = storm(plain("wire-proxy-unmarked", 10), false).await;
    assert!(attempts > 250, "{attempts} attempts for 100 requests");
}

#[tokio::test(start_paused = true)]
async fn those_that_were_rejected_together_do_not_come_back_together() {
    let partition = plain("wire-second-wave", 10);
    let (back, _) = storm(partition, true).await;
    assert!(back.len() > 9_000, "{} were rejected", back.len());
    let mut tenths = BTreeMap::<u128, usize>::new();
    for at in &back {
        *tenths.entry(at.as_millis() / 100).or_default() += 1;
    }
    let peak = *tenths.values().max().expect("some came back");
    // A peak of 1.3 times the mean, in whole numbers.
    assert!(
        10 * peak * tenths.len() <= 13 * back.len(),
        "{peak} in a tenth of a second, of {}: {tenths:?}",
        back.len()
    );
    assert_idle(partition);
}
