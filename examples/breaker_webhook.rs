//! Every transition of a breaker, posted to a webhook: by an observer that never blocks a call.
//!
//! A partner works, then hangs: three calls in a row run out of time, and the breaker opens. While the partner
//! fails at once, a probe opens it again, for longer; when it has recovered, a probe closes it. An observer is told
//! by the call that brought it about, so it does no more than put a message into a bounded queue. If that is full
//! the message is dropped and counted. A task of its own posts what is in there.
//!
//! Partner and webhook are real HTTP over loopback. It takes two or three seconds: cool-downs are real, too.
//!
//! ```text
//! cargo run --example breaker_webhook
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use bulkhead_runtime::{
    BulkheadError, Event, Observer, Partition, Wants, bulkhead, partition, subscribe,
};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Where a real service would say 30 seconds, this one says 300 milliseconds: nobody wants to wait for an example.
#[partition(
    name = "partner", max = 4,
    breaker(consecutive = 3, open_for = 300ms, max_open_for = 5s, probes = 1),
)]
static PARTNER: Partition;

/// Failures are all that the breaker has to see: timeouts, and what is an `Err` here.
#[bulkhead(PARTNER, timeout = 1500ms)]
async fn price(http: &Http, partner: SocketAddr) -> Result<String, Error> {
    match http.send(Request::get(url(partner, "/price")), "").await? {
        (StatusCode::OK, price) => Ok(price),
        (status, _) => Err(format!("the partner said {status}").into()),
    }
}

/// Tells a webhook of breakers. It holds up no call: what does not fit into the queue is dropped.
struct Webhook {
    queue: mpsc::Sender<Value>,
    dropped: Arc<AtomicU64>,
}

impl Observer for Webhook {
    fn observe(&self, event: &Event<'_>) {
        let Event::Breaker {
            partition,
            breaker,
            transition,
            ..
        } = event
        else {
            return;
        };
        let message = json!({
            "partition": partition.name(),
            "function": breaker.function(),
            "era": transition.era,
            "from": transition.from.as_str(),
            "to": transition.to.as_str(),
            "cause": transition.cause.to_string(),
            "open_for_ms": transition.open_for.map(|time| time.as_millis()),
        });
        if self.queue.try_send(message).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn wants(&self) -> Wants {
        Wants::USUAL.without_saturation()
    }
}

/// More than a few breakers say while one message is posted.
const QUEUE: usize = 64;
const LONGEST_POST: Duration = Duration::from_secs(5);

/// Posts one message after the other, until nobody is left who could put one into the queue. Returns how many
/// nobody has taken.
///
/// A post has a timeout and no breaker: what that had to tell would be posted, too.
async fn post_all(http: Http, receiver: SocketAddr, mut queue: mpsc::Receiver<Value>) -> u64 {
    let mut lost = 0;
    while let Some(message) = queue.recv().await {
        let request = Request::post(url(receiver, "/breaker"));
        let request = request.header("content-type", "application/json");
        let posted = timeout(LONGEST_POST, http.send(request, message.to_string())).await;
        let is_taken = matches!(posted, Ok(Ok((status, _))) if status.is_success());
        lost += u64::from(!is_taken);
    }
    lost
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let http = Http::new();
    let (arrives, inbox) = mpsc::unbounded_channel();
    let receiver = serve(receiver(arrives)).await?;

    let (queue, queued) = mpsc::channel(QUEUE);
    let dropped = Arc::<AtomicU64>::default();
    let posting = tokio::spawn(post_all(http.clone(), receiver, queued));
    let subscription = subscribe(Webhook {
        queue,
        dropped: Arc::clone(&dropped),
    });

    tell_the_story(http).await?;

    // With the observer goes the last end of the queue, and with that the task, once everything is posted.
    subscription.unsubscribe();
    let lost = timeout(Duration::from_secs(60), posting).await??;
    assert_eq!(lost, 0, "the webhook took every message");
    assert_eq!(dropped.load(Ordering::Relaxed), 0, "and every one fitted");
    check(inbox);
    Ok(())
}

async fn tell_the_story(http: Http) -> Result<(), Error> {
    let (condition, seen) = watch::channel(Condition::Works);
    let shop = Shop {
        partner: serve(partner(seen)).await?,
        http,
    };

    println!("the partner works");
    for _ in 0..3 {
        println!("  a price: {}", shop.price().await?);
    }

    println!("the partner hangs");
    condition.send_replace(Condition::Hangs);
    let (first, second, third) = tokio::join!(shop.price(), shop.price(), shop.price());
    for answer in [first, second, third] {
        let error = answer.expect_err("nobody answers");
        println!("  {error}");
    }

    println!("the partner fails at once");
    condition.send_replace(Condition::Fails);
    let error = shop.probe().await.expect_err("it fails");
    println!("  {error}");

    println!("the partner works again");
    condition.send_replace(Condition::Works);
    println!("  a price: {}", shop.probe().await?);
    println!("  a price: {}", shop.price().await?);
    Ok(())
}

struct Shop {
    http: Http,
    partner: SocketAddr,
}

impl Shop {
    async fn price(&self) -> Result<String, Error> {
        price(&self.http, self.partner).await
    }

    /// The first call that an open breaker lets through. Those that it rejects are told when to come back.
    async fn probe(&self) -> Result<String, Error> {
        loop {
            let answer = self.price().await;
            let error = answer.as_ref().err();
            match error.and_then(|error| error.downcast_ref()) {
                Some(BulkheadError::BreakerOpen(open)) => {
                    println!("  {open}");
                    sleep(open.retry_after().unwrap_or_default()).await;
                }
                _ => return answer,
            }
        }
    }
}

/// What has come to the webhook. Those that tell may overtake each other; their eras put them in order.
fn check(mut inbox: mpsc::UnboundedReceiver<Value>) {
    let mut arrived: Vec<_> = std::iter::from_fn(|| inbox.try_recv().ok()).collect();
    arrived.sort_by_key(|message| message["era"].as_u64());

    println!("the webhook was told");
    let text = |message: &Value, field| message[field].as_str().unwrap_or("-").to_owned();
    let fields = ["partition", "from", "to", "cause"];
    let told: Vec<_> = arrived
        .iter()
        .map(|message| fields.map(|field| text(message, field)))
        .collect();
    for ([partition, from, to, cause], message) in told.iter().zip(&arrived) {
        let era = &message["era"];
        println!("  {partition}, era {era}: {from:<9} -> {to:<9}  {cause}");
    }

    let expected = [
        ["closed", "open", "3 calls in a row failed"],
        ["open", "half_open", "the cool-down is over"],
        ["half_open", "open", "a probe failed"],
        ["open", "half_open", "the cool-down is over"],
        ["half_open", "closed", "the probes succeeded"],
    ];
    let expected = expected.map(|[from, to, cause]| ["partner", from, to, cause]);
    assert_eq!(told, expected, "each once, by their eras");
    let open_for = [0, 2].map(|opened: usize| arrived[opened]["open_for_ms"].as_u64());
    assert!(open_for[0] < open_for[1], "the second time for longer");
}

#[derive(Debug, Clone, Copy)]
enum Condition {
    Works,
    Hangs,
    Fails,
}

fn partner(condition: watch::Receiver<Condition>) -> Router {
    async fn answer(State(condition): State<watch::Receiver<Condition>>) -> (StatusCode, String) {
        let condition = *condition.borrow();
        match condition {
            Condition::Works => (StatusCode::OK, "4.90".to_owned()),
            Condition::Hangs => pending().await,
            Condition::Fails => (StatusCode::BAD_GATEWAY, String::new()),
        }
    }
    Router::new()
        .route("/price", get(answer))
        .with_state(condition)
}

/// The webhook: it keeps what arrives.
fn receiver(arrives: mpsc::UnboundedSender<Value>) -> Router {
    async fn arrive(
        State(arrives): State<mpsc::UnboundedSender<Value>>,
        Json(message): Json<Value>,
    ) -> StatusCode {
        match arrives.send(message) {
            Ok(()) => StatusCode::NO_CONTENT,
            Err(_) => StatusCode::GONE,
        }
    }
    Router::new()
        .route("/breaker", post(arrive))
        .with_state(arrives)
}

async fn serve(router: Router) -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, router).await });
    Ok(address)
}

fn url(server: SocketAddr, path: &str) -> String {
    format!("http://{server}{path}")
}

/// A client that keeps its connections.
#[derive(Clone)]
struct Http(Client<HttpConnector, Body>);

impl Http {
    fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// A request, and the text of its answer.
    async fn send(
        &self,
        request: axum::http::request::Builder,
        body: impl Into<Body>,
    ) -> Result<(StatusCode, String), Error> {
        const LONGEST_ANSWER: usize = 64 << 10;
        let response = self.0.request(request.body(body.into())?).await?;
        let status = response.status();
        let body = to_bytes(Body::new(response.into_body()), LONGEST_ANSWER).await?;
        Ok((status, String::from_utf8(body.to_vec())?))
    }
}
