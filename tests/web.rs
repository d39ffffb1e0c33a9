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

/// What an axum route answers, without a socket, so that the paused clock holds.
async fn answer(router: &Router, millis: &str) -> (u16, Option<String>, String) {
    let request = axum::http::Request::get("/").header("x-request-timeout-ms", millis);
    let request = request.body(axum::body::Body::empty()).expect("a request");
    let response = tower::ServiceExt::oneshot(router.clone(), request).await;
    let (head, body) = response.unwrap_or_else(|never| match never {}).into_parts();
    let body = axum::body::to_bytes(body, 4_096).await.expect("a body");
    let retry = head
        .headers
        .get("retry-after")
        .map(|value| value.to_str().expect("a number").to_owned());
    (
        head.status.as_u16(),
        retry,
        String::from_utf8(body.to_vec()).expect("text"),
    )
}

/// The body of the problem.
fn problem(status: u16, title: &str, detail: &str, partition: &str, reason: &str) -> String {
    format!(
        r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}","partition":"{partition}","reason":"{reason}"}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_request_rejects_with_503_before_the_body_and_stops_with_504_in_it() {
    #[bulkhead(name = "web-deadline", max = 1)]
    async fn hangs() -> Result<(), BulkheadError> {
        std::future::pending().await
    }
    #[bulkhead(name = "web-deadline-contract", max = 1, deadline = 10s, margin = 5ms, breaker(consecutive = 1))]
    async fn hangs_too() -> Result<(), BulkheadError> {
        std::future::pending().await
    }
    let capped = bulkhead_runtime::tower::DeadlineLayer::capped(Duration::from_secs(20));
    for (name, router, stopped_after) in [
        ("web-deadline", Router::new().route("/", get(hangs)), 50),
        (
            "web-deadline-contract",
            Router::new().route("/", get(hangs_too)),
            45,
        ),
    ] {
        let router = router.layer(capped);
        let start = tokio::time::Instant::now();
        let (status, retry, body) = answer(&router, "0").await;
        assert_eq!(status, 503);
        assert!(matches!(retry.as_deref(), Some("1" | "2")), "{retry:?}");
        let busy = "too many calls at the moment";
        assert_eq!(
            body,
            problem(503, "Service Unavailable", busy, name, "deadline_exceeded")
        );
        assert_eq!(start.elapsed(), Duration::ZERO);

        let (status, retry, body) = answer(&router, "50").await;
        assert_eq!((status, retry), (504, None), "it ran");
        let long = "the call took too long";
        assert_eq!(
            body,
            problem(504, "Gateway Timeout", long, name, "deadline_exceeded")
        );
        assert_eq!(start.elapsed(), Duration::from_millis(stopped_after));
        let s = partition(name).unwrap().snapshot();
        assert_eq!(
            (s.rejected.deadline, s.admitted, s.outcomes.timed_out),
            (1, 1, 1)
        );
        // Its breaker, if it has one, has seen nothing: those were the client's.
        assert_idle(partition(name).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_in_the_fallback_is_a_504_only_if_the_body_ran_and_never_asks_to_come_back()
 {
    #[bulkhead(name = "web-fallback", max = 1, deadline = 50ms, fallback = hangs())]
    async fn wrong() -> Result<(), BulkheadError> {
        ours().await
    }
    #[bulkhead(name = "web-fallback-cause", max = 1, timeout = 5ms)]
    async fn ours() -> Result<(), BulkheadError> {
        std::future::pending().await
    }
    async fn hangs() -> Result<(), BulkheadError> {
        std::future::pending().await
    }
    let partition = partition("web-fallback").unwrap();
    let error = wrong().await.expect_err("its fallback hangs");
    let held = partition.try_enter().expect("it is free");
    let never_ran = wrong().await.expect_err("its fallback hangs");
    drop(held);
    for (error, status) in [(error, 504), (never_ran, 503)] {
        let response: axum::http::Response<String> = error.to_response();
        assert_eq!(response.status(), status, "{error}");
        assert!(!response.headers().contains_key("retry-after"), "{error}");
        assert_eq!(
            tonic::Status::from(error).code(),
            tonic::Code::DeadlineExceeded
        );
    }
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_says_until_when_in_whole_seconds_and_to_everybody_the_same() {
    #[bulkhead(
        name = "web-breaker", max = 1, timeout = 5ms, breaker(consecutive = 1, open_for = 90s, max_open_for = 90s),
    )]
    async fn hangs() -> Result<(), BulkheadError> {
        std::future::pending().await
    }
    let router = Router::new().route("/", get(hangs));
    assert_eq!(answer(&router, "").await.0, 504);
    let error = hangs().await.expect_err("it is open");
    let left = error.retry_after().expect("it says when");
    assert!(
        left > Duration::from_secs(30),
        "{left:?} is not cut to half a minute"
    );
    let whole = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    for _ in 0..40 {
        let (status, retry, body) = answer(&router, "").await;
        assert_eq!((status, retry), (503, Some(whole.to_string())), "{left:?}");
        let closed = "not available at the moment";
        assert_eq!(
            body,
            problem(
                503,
                "Service Unavailable",
                closed,
                "web-breaker",
                "breaker_open"
            )
        );
    }
    // Whoever comes back then is let through.
    tokio::time::advance(Duration::from_secs(whole)).await;
    assert_eq!(answer(&router, "").await.0, 504, "as a probe");
}

#[test]
fn the_status_of_the_partition_holds_for_its_breaker_and_a_hand_says_nothing_of_when() {
    use bulkhead_runtime::{BreakerPolicy, Policy};
    let policy = Policy::new(1)
        .with_status(429)
        .with_breaker(BreakerPolicy::new());
    let partition = bulkhead_runtime::register("web-breaker-429", policy).unwrap();
    partition.breaker().expect("it has one").force_open();
    let error = partition.try_enter().expect_err("it is open");
    let response: axum::http::Response<String> = error.to_response();
    assert_eq!(response.status(), 429);
    assert!(!response.headers().contains_key("retry-after"));
    let closed = "not available at the moment";
    let expected = problem(
        429,
        "Too Many Requests",
        closed,
        "web-breaker-429",
        "breaker_open",
    );
    assert_eq!(response.body(), &expected);
}
