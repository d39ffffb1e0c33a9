//! What a rejection is to an actix-web server and its clients, over real sockets.

mod common;

use std::future::pending;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::web::{Data, Path};
use actix_web::{App, HttpResponse, HttpServer, error, get, http, web};
use bulkhead_runtime::{BulkheadError, Outcomes, Partition, bulkhead, partition};
use common::assert_idle;
use common::wire::{soon, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

#[bulkhead(name = "actix-itself", max = 1)]
async fn itself() -> Result<&'static str, BulkheadError> {
    Ok("fine")
}

#[bulkhead(name = "actix-foreign", max = 1)]
async fn foreign() -> Result<&'static str, actix_web::Error> {
    Ok("fine")
}

#[bulkhead(name = "actix-response", max = 1)]
async fn response(status: Path<u16>) -> HttpResponse {
    let status = http::StatusCode::from_u16(*status);
    HttpResponse::build(status.expect("the test asks for a status that exists")).finish()
}

#[get("/route/above")]
#[bulkhead(name = "actix-route-above", max = 1)]
async fn route_above() -> Result<&'static str, BulkheadError> {
    Ok("fine")
}

#[bulkhead(name = "actix-route-below", max = 1)]
#[get("/route/below")]
async fn route_below() -> Result<&'static str, BulkheadError> {
    Ok("fine")
}

/// actix-web runs a handler on the thread that accepted it, so that it need not be `Send`.
#[bulkhead(name = "actix-local", max = 1)]
async fn local() -> Result<String, BulkheadError> {
    let counted = Rc::new(7);
    tokio::task::yield_now().await;
    Ok(counted.to_string())
}

#[bulkhead(name = "actix-timeout", max = 1, timeout = 5ms)]
async fn hang() -> Result<&'static str, BulkheadError> {
    pending().await
}

#[bulkhead(name = "actix-wait", max = 1, queue = 1, wait = 5ms)]
async fn wait() -> Result<&'static str, BulkheadError> {
    Ok("fine")
}

#[partition(name = "actix-429", max = 1, status = 429)]
static QUOTA: Partition;

#[bulkhead(QUOTA)]
async fn quota() -> Result<&'static str, BulkheadError> {
    Ok("fine")
}

#[bulkhead(name = "actix-breaker", max = 1, timeout = 5ms, breaker(consecutive = 1, open_for = 40s))]
async fn breaker() -> Result<&'static str, BulkheadError> {
    pending().await
}

#[bulkhead(name = "actix-deadline", max = 1, deadline = 5ms)]
async fn deadline() -> Result<&'static str, BulkheadError> {
    pending().await
}

/// Closing it is what opens it, for everybody.
type Gate = Arc<Semaphore>;

async fn pass(gate: Data<Gate>) -> HttpResponse {
    assert!(gate.acquire().await.is_err(), "the gate only closes");
    HttpResponse::Ok().finish()
}

#[bulkhead(name = "actix-left", max = 1)]
async fn left(gate: Data<Gate>) -> HttpResponse {
    pass(gate).await
}

#[bulkhead(name = "actix-left-heard", max = 1)]
async fn left_heard(gate: Data<Gate>) -> HttpResponse {
    pass(gate).await
}

#[bulkhead(name = "actix-left-broken", max = 1)]
async fn left_broken(gate: Data<Gate>) -> HttpResponse {
    pass(gate).await
}

/// A server with all of them, on a free port and one thread.
fn serve() -> SocketAddr {
    serve_where(Gate::new(Semaphore::new(0)), true)
}

/// Whether a client that closes its side may still be reading is for the server to say.
fn serve_where(gate: Gate, may_half_close: bool) -> SocketAddr {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(Data::new(Arc::clone(&gate)))
            .route("/itself", web::get().to(itself))
            .route("/foreign", web::get().to(foreign))
            .route("/response/{status}", web::get().to(response))
            .route("/local", web::get().to(local))
            .route("/hang", web::get().to(hang))
            .route("/wait", web::get().to(wait))
            .route("/quota", web::get().to(quota))
            .route("/breaker", web::get().to(breaker))
            .route("/deadline", web::get().to(deadline))
            .route("/left", web::get().to(left))
            .route("/left/heard", web::get().to(left_heard))
            .route("/left/broken", web::get().to(left_broken))
            .service(route_above)
            .service(route_below)
    });
    let server = server
        .workers(1)
        .disable_signals()
        .h1_allow_half_closed(may_half_close)
        .bind(("127.0.0.1", 0))
        .expect("loopback has a free port");
    let address = server.addrs()[0];
    tokio::spawn(server.run());
    address
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    /// The value of every header of this name.
    fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines();
        lines
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .collect()
    }
}

async fn connect(server: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server)
        .await
        .expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    stream
}

async fn ask(server: SocketAddr, path: &str) -> Reply {
    let mut stream = connect(server, path).await;
    let mut reply = String::new();
    let read = soon("the reply", stream.read_to_string(&mut reply)).await;
    read.expect("the server answers in text");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Reply {
        status: status.expect("a status line"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn outcomes(name: &str) -> Outcomes {
    partition(name).expect("it is declared").snapshot().outcomes
}

#[tokio::test]
async fn a_rejected_handler_answers_what_it_answers_everywhere() {
    let server = serve();
    let whole = partition("actix-itself").unwrap();
    assert_eq!(ask(server, "/itself").await.body, "fine");

    let held = whole.try_enter().unwrap();
    let elsewhere = whole.try_enter().unwrap_err().to_response::<String>();
    let header = |name| elsewhere.headers()[name].to_str().unwrap();
    let mut seconds = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let reply = ask(server, "/itself").await;
        assert_eq!(reply.status, 503);
        assert_eq!(reply.status, elsewhere.status());
        assert_eq!(&reply.body, elsewhere.body());
        assert_eq!(reply.headers("content-type"), [header("content-type")]);
        assert_eq!(reply.headers("content-type"), ["application/problem+json"]);
        seconds.extend(reply.headers("retry-after").into_iter().map(str::to_owned));
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
async fn every_kind_of_handler_carries_a_rejection() {
    let server = serve();
    for (name, path, free) in [
        ("actix-foreign", "/foreign", 200),
        ("actix-response", "/response/204", 204),
        ("actix-route-above", "/route/above", 200),
        ("actix-route-below", "/route/below", 200),
        ("actix-local", "/local", 200),
    ] {
        let whole = partition(name).unwrap();
        assert_eq!(ask(server, path).await.status, free, "{path} when free");
        let held = whole.try_enter().unwrap();
        let expected = whole.try_enter().unwrap_err().to_response::<String>();
        let reply = ask(server, path).await;
        assert_eq!(reply.status, 503, "{path} when full");
        assert_eq!(&reply.body, expected.body(), "{path} when full");
        assert_eq!(reply.headers("retry-after").len(), 1, "{path} when full");
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
    let reply = ask(serve(), "/hang").await;
    assert_eq!(reply.status, 504);
    assert!(reply.headers("retry-after").is_empty(), "{}", reply.head);
    assert!(
        reply.body.contains(r#""reason":"call_timeout""#),
        "{}",
        reply.body
    );
    assert_eq!(outcomes("actix-timeout").timed_out, 1);
    assert_idle(partition("actix-timeout").unwrap());
}

#[tokio::test]
async fn a_wait_timeout_is_a_503() {
    let _held = partition("actix-wait").unwrap().try_enter().unwrap();
    let reply = ask(serve(), "/wait").await;
    assert_eq!(reply.status, 503);
    assert!(
        reply.body.contains(r#""reason":"wait_timeout""#),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn a_partition_with_the_status_429_says_so() {
    let _held = QUOTA.try_enter().unwrap();
    let reply = ask(serve(), "/quota").await;
    assert_eq!(reply.status, 429);
    assert_eq!(reply.headers("retry-after").len(), 1, "{}", reply.head);
    assert!(reply.body.contains(r#""status":429"#), "{}", reply.body);
}

#[tokio::test]
async fn a_5xx_is_a_failure_and_any_other_status_is_not() {
    #[bulkhead(name = "actix-verdicts", max = 1)]
    async fn answer(status: u16) -> HttpResponse {
        let status = http::StatusCode::from_u16(status);
        HttpResponse::new(status.expect("the test asks for a status that exists"))
    }
    for status in [200, 404, 500, 503] {
        assert_eq!(answer(status).await.status(), status);
    }
    let outcomes = outcomes("actix-verdicts");
    assert_eq!((outcomes.success, outcomes.failure), (2, 2));
}

#[tokio::test]
async fn an_err_is_a_failure_whatever_its_status() {
    #[bulkhead(name = "actix-err", max = 1)]
    async fn answer() -> Result<HttpResponse, actix_web::Error> {
        Err(error::ErrorNotFound("no such thing"))
    }
    assert_eq!(answer().await.unwrap_err().error_response().status(), 404);
    assert_eq!(outcomes("actix-err").failure, 1);
}

#[test]
fn an_error_of_actix_web_still_knows_what_it_was() {
    let one = common::plain("actix-as-error", 1);
    let _held = one.try_enter().unwrap();
    let error = actix_web::Error::from(one.try_enter().unwrap_err());
    let text = error.to_string();
    let error = error.as_error::<BulkheadError>().expect("it is one");
    assert!(matches!(error, BulkheadError::Full(_)), "{error}");
    assert_eq!(text, error.to_string());
}

#[tokio::test]
async fn a_client_that_closes_its_connection_leaves_its_call_running() {
    let gate = Gate::new(Semaphore::new(0));
    let server = serve_where(Arc::clone(&gate), true);
    let left = partition("actix-left").unwrap();
    let stream = connect(server, "/left").await;
    until("the call runs", || left.snapshot().in_flight == 1).await;
    drop(stream);
    // The one thread of the server has heard of it when it answers those who come later.
    for _ in 0..10 {
        assert_eq!(ask(server, "/local").await.body, "7");
    }
    assert_eq!(
        left.snapshot().in_flight,
        1,
        "the client may still be reading"
    );
    gate.close();
    until("the call has ended", || left.snapshot().in_flight == 0).await;
    let outcomes = outcomes("actix-left");
    assert_eq!((outcomes.success, outcomes.cancelled), (1, 0));
    assert_idle(left);
}

#[tokio::test]
async fn a_client_that_closes_its_connection_gives_the_permit_back_where_that_ends_a_call() {
    let server = serve_where(Gate::new(Semaphore::new(0)), false);
    let left = partition("actix-left-heard").unwrap();
    let stream = connect(server, "/left/heard").await;
    until("the call runs", || left.snapshot().in_flight == 1).await;
    drop(stream);
    until("the permit is back", || left.snapshot().in_flight == 0).await;
    assert_eq!(outcomes("actix-left-heard").cancelled, 1);
    assert_idle(left);
}

#[tokio::test]
async fn a_client_whose_connection_breaks_gives_the_permit_back() {
    let server = serve();
    let broken = partition("actix-left-broken").unwrap();
    let stream = connect(server, "/left/broken").await;
    until("the call runs", || broken.snapshot().in_flight == 1).await;
    stream.set_zero_linger().expect("it resets on close");
    drop(stream);
    until("the permit is back", || broken.snapshot().in_flight == 0).await;
    assert_eq!(outcomes("actix-left-broken").cancelled, 1);
    assert_idle(broken);
}

#[tokio::test]
async fn an_open_breaker_is_a_503_with_its_own_hint_and_a_deadline_that_passed_a_504() {
    let server = serve();
    let reply = ask(server, "/deadline").await;
    assert_eq!(reply.status, 504);
    assert!(
        reply.body.contains(r#""reason":"deadline_exceeded""#),
        "{}",
        reply.body
    );
    assert!(reply.headers("retry-after").is_empty(), "{}", reply.head);

    assert_eq!(ask(server, "/breaker").await.status, 504, "it hangs");
    let reply = ask(server, "/breaker").await;
    assert_eq!(reply.status, 503);
    assert!(
        reply.body.contains(r#""reason":"breaker_open""#),
        "{}",
        reply.body
    );
    let [seconds] = reply.headers("retry-after")[..] else {
        panic!("one hint: {}", reply.head)
    };
    let seconds: u64 = seconds.parse().expect("whole seconds");
    assert!((39..=48).contains(&seconds), "{seconds}");
    assert_eq!(
        partition("actix-breaker")
            .unwrap()
            .snapshot()
            .rejected
            .breaker_open,
        1
    );
}
