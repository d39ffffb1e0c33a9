//! The layer over real sockets: what is read, what idles, and who comes back when.

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
use axum::http::{Request, Response};
use axum::routing::post;
use axum::serve::IncomingStream;
use bulkhead_runtime::{BulkheadLayer, Partition};
use common::wire::{client, request, serve, soon};
use common::{assert_idle, ms, plain};
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt, layer::layer_fn, service_fn};

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

/// A server that asks the service of each connection whether it is ready before there is a request, and
/// keeps it like that, as those of hyper 0.14 and of tonic did.
async fn serve_once_ready<S>(service: S) -> SocketAddr
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
{
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let connected = service_fn(move |_: IncomingStream<'_, TcpListener>| {
        let mut connection = service.clone();
        async move {
            let ready = connection.ready().await;
            ready.map_or_else(|never| match never {}, drop);
            Ok::<_, Infallible>(connection)
        }
    });
    tokio::spawn(async move { axum::serve(listener, connected).await });
    address
}

#[tokio::test]
async fn connections_that_idle_hold_nothing() {
    let partition = plain("wire-idle", 1);
    let fine = service_fn(|_| ready(Ok::<_, Infallible>(Response::new(Body::from("fine")))));
    let server = serve_once_ready(BulkheadLayer::new(partition).layer(fine)).await;
    // Each client keeps its connection: with one permit, none of them can have kept it.
    let clients: Vec<_> = (0..20).map(|at| client(at % 2 == 0)).collect();
    for _ in 0..3 {
        for client in &clients {
            let asked = client.request(request(server, "/", Body::empty()));
            let response = soon("an answer", asked).await.expect("an answer");
            assert_eq!(response.status(), 200);
            response.into_body().collect().await.expect("a body");
            assert_eq!(partition.snapshot().in_flight, 0, "all of them idle");
            drop(partition.try_enter().expect("none of them holds it"));
        }
    }
    assert_eq!(partition.snapshot().rejected.total(), 0);
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

/// When a response says to come back.
fn come_back_in(response: &Response<Body>) -> Option<u64> {
    let seconds = response.headers().get("retry-after")?;
    seconds.to_str().ok()?.parse().ok()
}

/// Ten thousand requests in a second, for a server that serves a hundred; each that is rejected comes back
/// once, when it was told to. Gives the attempts that the server saw for a hundred requests.
async fn storm(partition: &'static Partition, is_marked: bool) -> usize {
    const CLIENTS: u32 = 10_000;
    fastrand::seed(7);
    let (arrivals, proxy) = behind_a_retrying_proxy(partition, is_marked);
    let mut clients = JoinSet::new();
    for at in 0..CLIENTS {
        let proxy = proxy.clone();
        clients.spawn(async move {
            tokio::time::sleep(Duration::from_secs(1) * at / CLIENTS).await;
            let response = proxy.clone().oneshot(()).await;
            let response = response.unwrap_or_else(|never| match never {});
            let seconds = come_back_in(&response)?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            drop(proxy.oneshot(()).await);
            Some(())
        });
    }
    let came_back = clients.join_all().await.into_iter().flatten().count();
    assert!(came_back > 9_000, "{came_back} were rejected");
    assert_idle(partition);
    let requests = CLIENTS as usize + came_back;
    let attempts = 100 * arrivals.load(Ordering::SeqCst);
    attempts.div_ceil(requests)
}

#[tokio::test(start_paused = true)]
async fn a_retrying_proxy_does_not_multiply_a_rejection() {
    let attempts = storm(plain("wire-proxy-marked", 10), true).await;
    assert!(attempts <= 105, "{attempts} attempts for 100 requests");
    // That the proxy does retry what it is not told about.
    let attempts = storm(plain("wire-proxy-unmarked", 10), false).await;
    assert!(attempts > 250, "{attempts} attempts for 100 requests");
}

#[tokio::test(start_paused = true)]
async fn those_that_were_rejected_together_do_not_come_back_together() {
    const CLIENTS: usize = 10_000;
    fastrand::seed(7);
    let partition = plain("wire-second-wave", 1);
    let calls = service_fn(|()| async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok::<_, Infallible>(Response::new(Body::from("fine")))
    });
    let service = BulkheadLayer::new(partition).layer(calls);
    let ask = || async {
        let response = service.oneshot(()).await;
        response.unwrap_or_else(|never| match never {})
    };
    assert_eq!(ask().await.status(), 200, "the first call is measured");

    let permit = partition.try_enter().expect("it is free");
    let mut back = BTreeMap::<u64, usize>::new();
    let start = Instant::now();
    for _ in 0..CLIENTS {
        let seconds = come_back_in(&ask().await).expect("it is worth trying again");
        *back.entry(seconds).or_default() += 1;
    }
    assert_eq!(start.elapsed(), ms(0), "rejected in one instant");
    drop(permit);
    // Once to twice the ten seconds that a call takes, each of them as likely as the others.
    let expected: Vec<_> = (10..=20).collect();
    assert_eq!(back.keys().copied().collect::<Vec<_>>(), expected);
    let peak = *back.values().max().expect("they come back");
    assert!(
        10 * peak * back.len() <= 13 * CLIENTS,
        "{peak} in a second, of {CLIENTS}: {back:?}"
    );
    assert_idle(partition);
}
