//! A partition before an axum route: rejected before the request is read, and held until the server has
//! taken the last piece of the response.
//!
//! An import of four megabytes is received and parsed by its extractor before an annotated handler could
//! reject it. The layer stands before the extractor. An export is done for the service when its head is,
//! while its body is still being read: there the permit stays until the last piece of it is on its way.
//!
//! ```text
//! cargo run --example axum_layer
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, Response};
use axum::routing::{get, post};
use axum::{Router, serve};
use bulkhead_runtime::tower::DeadlineLayer;
use bulkhead_runtime::{BulkheadLayer, Partition, partition};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tower::ServiceBuilder;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[partition(name = "import", max = 2)]
static IMPORT: Partition;

/// Behind a mesh that ejects hosts by their 5xx: a full partition is no broken host.
#[partition(name = "export", max = 1, status = 429)]
static EXPORT: Partition;

const FOUR_MEGABYTES: usize = 4 << 20;
/// What is guarded takes no longer to the head of its response, and no longer than its client waits, if that
/// says so in `x-request-timeout-ms`.
const PATIENCE: DeadlineLayer = DeadlineLayer::capped(Duration::from_secs(15));
/// More than what lies between two sockets.
const EXPORT_SIZE: usize = 512 * PIECE.len();
static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];

async fn import(body: Bytes) -> String {
    format!("{} bytes", body.len())
}

async fn export() -> Body {
    let pieces = (0..EXPORT_SIZE / PIECE.len()).map(|_| Ok::<_, Infallible>(&PIECE[..]));
    Body::from_stream(tokio_stream::iter(pieces))
}

fn router() -> Router {
    Router::new()
        .route(
            "/import",
            post(import).layer(
                ServiceBuilder::new()
                    .layer(BulkheadLayer::new(&IMPORT).timeout(Duration::from_secs(10)))
                    .layer(DefaultBodyLimit::max(FOUR_MEGABYTES)),
            ),
        )
        .route(
            "/export",
            get(export).layer(
                BulkheadLayer::new(&EXPORT)
                    .envoy_ratelimited()
                    .until_body(Duration::from_secs(60)),
            ),
        )
        .route("/health", get(|| async { "fine" }))
        .layer(PATIENCE)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let server = listener.local_addr()?;
    tokio::spawn(async { serve(listener, router()).await });
    let browser = Browser {
        client: Client::builder(TokioExecutor::new()).build_http(),
        server,
    };

    println!("request                          status  retry after");
    imports(&browser).await?;
    exports(&browser).await?;

    for partition in [&IMPORT, &EXPORT] {
        let snapshot = partition.snapshot();
        assert_eq!(snapshot.headroom, snapshot.max, "every permit is back");
        assert_eq!(snapshot.rejected.full, 1, "one was rejected in each");
    }
    Ok(())
}

async fn imports(browser: &Browser) -> Result<(), Error> {
    let response = browser.send("POST", "/import", FOUR_MEGABYTES).await?;
    show("import, with room", &response);
    assert_eq!(response.status(), 200, "there is room");

    let held = [IMPORT.try_enter()?, IMPORT.try_enter()?];
    let response = browser.send("POST", "/import", FOUR_MEGABYTES).await?;
    show("import, full", &response);
    assert_eq!(response.status(), 503, "both permits are taken");
    let problem = to_bytes(response.into_body(), 4096).await?;
    assert!(
        problem.starts_with(br#"{"type":"about:blank","title":"Service Unavailable""#),
        "problem details (RFC 9457)"
    );
    drop(held);
    Ok(())
}

async fn exports(browser: &Browser) -> Result<(), Error> {
    // Its head has come, and nobody has read its body yet: it is still in flight.
    let reading = browser.send("GET", "/export", 0).await?;
    show("export, its head", &reading);
    assert_eq!(reading.status(), 200, "there is room");

    let second = browser.send("GET", "/export", 0).await?;
    show("export, while the first is read", &second);
    assert_eq!(second.status(), 429, "one at a time, until its end");
    assert_eq!(
        second.headers()["x-envoy-ratelimited"],
        "true",
        "Envoy does not retry it"
    );

    let health = browser.send("GET", "/health", 0).await?;
    show("health, meanwhile", &health);
    assert_eq!(health.status(), 200, "everybody else sails on");

    let body = to_bytes(reading.into_body(), EXPORT_SIZE).await?;
    assert_eq!(body.len(), EXPORT_SIZE, "the export was read to its end");
    let third = browser.send("GET", "/export", 0).await?;
    show("export, when that was read", &third);
    assert_eq!(
        third.status(),
        200,
        "the permit came back before the last byte came"
    );
    to_bytes(third.into_body(), EXPORT_SIZE).await?;
    Ok(())
}

struct Browser {
    client: Client<HttpConnector, Body>,
    server: SocketAddr,
}

impl Browser {
    async fn send(&self, method: &str, path: &str, size: usize) -> Result<Response<Body>, Error> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.server))
            .body(Body::from(vec![b'x'; size]))?;
        Ok(self.client.request(request).await?.map(Body::new))
    }
}

fn show(request: &str, response: &Response<Body>) {
    let retry_after = response.headers().get("retry-after");
    let retry_after = retry_after.and_then(|seconds| seconds.to_str().ok());
    let status = response.status().as_u16();
    println!("{request:<33}{status:>6}  {}", retry_after.unwrap_or("-"));
}
