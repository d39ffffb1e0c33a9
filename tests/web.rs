//! What a rejection is on the wire, over real sockets.

mod common;

use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bulkhead_runtime::{BulkheadError, bulkhead, partition};
use common::assert_idle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[bulkhead(name = "web-itself", max = 1)]
async fn itself() -> Result<&'static str, BulkheadError> {
    Ok("fine")
}

/// An error of the application's, with its own way onto the wire.
enum AppError {
    Rejected(BulkheadError),
    NotFound,
}

impl From<BulkheadError> for AppError {
    fn from(error: BulkheadError) -> Self {
        Self::Rejected(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Rejected(error) => error.into_response(),
            Self::NotFound => StatusCode::NOT_FOUND.into_response(),
        }
    }
}

#[bulkhead(name = "web-app-error", max = 1)]
async fn app_error(Path(id): Path<u32>) -> Result<String, AppError> {
    if id == 0 {
        Err(AppError::NotFound)
    } else {
        Ok(id.to_string())
    }
}

fn to_fmt(_: BulkheadError) -> std::fmt::Error {
    std::fmt::Error
}

#[bulkhead(name = "web-foreign", max = 1, reject = to_fmt)]
async fn foreign() -> Result<(), std::fmt::Error> {
    Ok(())
}

async fn foreign_handler() -> StatusCode {
    foreign()
        .await
        .map_or(StatusCode::BAD_GATEWAY, |()| StatusCode::OK)
}

#[bulkhead(name = "web-response", max = 1)]
async fn response(Path(status): Path<u16>) -> Response {
    StatusCode::from_u16(status)
        .expect("the test asks for a status that exists")
        .into_response()
}

#[bulkhead(name = "web-status", max = 1)]
async fn status() -> Result<(), StatusCode> {
    Ok(())
}

#[bulkhead(name = "web-timeout", max = 1, timeout = 5ms)]
async fn hangs() -> Result<(), BulkheadError> {
    std::future::pending().await
}

#[bulkhead(name = "web-wait", max = 1, queue = 1, wait = 5ms)]
async fn waits() -> Result<(), BulkheadError> {
    Ok(())
}

/// A server with all of them, on a free port.
async fn serve() -> std::net::SocketAddr {
    let router = Router::new()
        .route("/itself", get(itself))
        .route("/app-error/{id}", get(app_error))
        .route("/foreign", get(foreign_handler))
        .route("/response/{status}", get(response))
        .route("/status", get(status))
        .route("/hangs", get(hangs))
        .route("/waits", get(waits));
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

async fn ask(server: std::net::SocketAddr, path: &str) -> Reply {
    let mut stream = TcpStream::connect(server)
        .await
        .expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let mut reply = String::new();
    stream
        .read_to_string(&mut reply)
        .await
        .expect("the server answers in text");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status line");
    Reply {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

#[tokio::test]
async fn a_rejected_handler_answers_503_with_retry_after_and_problem_details() {
    let server = serve().await;
    let whole = partition("web-itself").unwrap();
    assert_eq!(ask(server, "/itself").await.body, "fine");

    let held = whole.try_enter().unwrap();
    let mut seconds = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let reply = ask(server, "/itself").await;
        assert_eq!(reply.status, 503);
        assert_eq!(
            reply.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(
            reply.body,
            r#"{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many calls at the moment","partition":"web-itself","reason":"full"}"#
        );
        seconds.insert(
            reply
                .header("retry-after")
                .expect("it is worth trying again")
                .to_owned(),
        );
    }
    assert_eq!(
        Vec::from_iter(&seconds),
        ["1", "2"],
        "they do not all come back together"
    );
    drop(held);
    assert_eq!(ask(server, "/itself").await.status, 200);
    assert_idle(whole);
}

#[tokio::test]
async fn every_kind_of_return_type_carries_a_rejection() {
    let server = serve().await;
    for (name, path, free, full) in [
        ("web-app-error", "/app-error/7", 200, 503),
        ("web-foreign", "/foreign", 200, 502),
        ("web-response", "/response/204", 204, 503),
        ("web-status", "/status", 200, 503),
    ] {
        assert_eq!(ask(server, path).await.status, free, "{path} when free");
        let held = partition(name).unwrap().try_enter().unwrap();
        assert_eq!(ask(server, path).await.status, full, "{path} when full");
        drop(held);
        assert_eq!(
            ask(server, path).await.status,
            free,
            "{path} when free again"
        );
    }
}

#[tokio::test]
async fn a_call_timeout_is_a_504_and_does_not_ask_to_come_back() {
    let reply = ask(serve().await, "/hangs").await;
    assert_eq!((reply.status, reply.header("retry-after")), (504, None));
    assert_eq!(
        reply.body,
        r#"{"type":"about:blank","title":"Gateway Timeout","status":504,"detail":"the call took too long","partition":"web-timeout","reason":"call_timeout"}"#
    );
}

#[tokio::test]
async fn a_wait_timeout_is_a_503() {
    let server = serve().await;
    let held = partition("web-wait").unwrap().try_enter().unwrap();
    let reply = ask(server, "/waits").await;
    assert_eq!(reply.status, 503);
    assert!(
        reply.body.contains(r#""reason":"wait_timeout""#),
        "{}",
        reply.body
    );
    drop(held);
}

#[tokio::test]
async fn a_5xx_is_a_failure_and_any_other_status_is_not() {
    #[bulkhead(name = "web-verdicts", max = 1)]
    async fn answer(status: u16) -> Response {
        StatusCode::from_u16(status)
            .expect("the test asks for a status that exists")
            .into_response()
    }
    for status in [200, 404, 500, 503] {
        assert_eq!(answer(status).await.status(), status);
    }
    let outcomes = partition("web-verdicts").unwrap().snapshot().outcomes;
    assert_eq!((outcomes.success, outcomes.failure), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn the_hint_follows_the_measured_time_of_a_call_and_is_always_spread() {
    for (name, seconds, expected) in [
        ("web-hint-7", 7, 7..=14),
        ("web-hint-25", 25, 15..=30),
        ("web-hint-40", 40, 15..=30),
    ] {
        let slow = common::plain(name, 1);
        let held = slow.try_enter().unwrap();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        drop(held);
        let _held = slow.try_enter().unwrap();
        let error = slow.try_enter().unwrap_err();
        assert_eq!(
            error.retry_after(),
            Some(Duration::from_secs(seconds.min(30))),
            "one at a time"
        );
        let mut drawn = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let response: axum::http::Response<String> = error.to_response();
            let seconds: u64 = response.headers()["retry-after"]
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!(expected.contains(&seconds), "{seconds}");
            drawn.insert(seconds);
        }
        assert!(drawn.len() >= 8, "every second is as likely: {drawn:?}");
    }
}

#[test]
fn a_closed_partition_says_so() {
    let closed = common::plain("web-closed", 1);
    closed.close();
    let response: axum::http::Response<String> = closed.try_enter().unwrap_err().to_response();
    assert_eq!(response.status(), 503);
    assert!(
        response
            .body()
            .contains(r#""detail":"closed at the moment""#),
        "{}",
        response.body()
    );
    assert!(["1", "2"].contains(&response.headers()["retry-after"].to_str().unwrap()));
}
