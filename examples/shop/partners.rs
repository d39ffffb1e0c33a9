//! The two partners: HTTP services of their own, that answer after a while.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::Method;
use axum::routing::{get, post};
use tokio::time::sleep;

use crate::clients::Cents;
use crate::http::{Http, HttpError, Server};

/// How long a healthy shipping partner takes.
pub(crate) const QUICK: Duration = Duration::from_millis(20);
/// How long it takes on a bad day: longer than anybody waits.
pub(crate) const SLOW: Duration = Duration::from_secs(8);
/// How long the payment partner takes, on every day.
const PAYMENT: Duration = Duration::from_millis(30);

/// Both partners, listening.
pub(crate) struct Running {
    shipping: Server,
    payment: Server,
    control: Http,
}

impl Running {
    pub(crate) async fn start() -> Result<Self, HttpError> {
        Ok(Self {
            shipping: Server::start(0, shipping()).await?,
            payment: Server::start(0, payment()).await?,
            control: Http::new(),
        })
    }

    pub(crate) fn shipping(&self) -> SocketAddr {
        self.shipping.address()
    }

    pub(crate) fn payment(&self) -> SocketAddr {
        self.payment.address()
    }

    /// Makes shipping slow or quick again, by the route that `curl` can use too.
    pub(crate) async fn delay_shipping(&self, delay: Duration) -> Result<(), HttpError> {
        let path = format!("/delay/{}", delay.as_millis());
        self.control
            .send(Method::POST, self.shipping(), &path)
            .await?;
        Ok(())
    }

    pub(crate) async fn stop(self) {
        drop(self.control);
        self.shipping.stop().await;
        self.payment.stop().await;
    }
}

fn shipping() -> Router {
    Router::new()
        .route("/quote/{grams}", get(quote))
        .route("/delay/{millis}", post(delay))
        .with_state(Delay(Arc::new(AtomicU64::new(millis(QUICK)))))
}

fn payment() -> Router {
    Router::new().route("/charge/{amount}", post(charge))
}

/// Milliseconds until shipping answers; changes while it runs.
#[derive(Clone)]
struct Delay(Arc<AtomicU64>);

async fn quote(State(Delay(delay)): State<Delay>, Path(grams): Path<u32>) -> String {
    let base: Cents = 390;
    sleep(Duration::from_millis(delay.load(Ordering::Relaxed))).await;
    format!("{}\n", base.saturating_add(grams / 8))
}

async fn delay(State(Delay(delay)): State<Delay>, Path(millis): Path<u64>) -> String {
    delay.store(millis, Ordering::Relaxed);
    format!("shipping now answers after {millis} ms\n")
}

async fn charge(Path(amount): Path<Cents>) -> String {
    sleep(PAYMENT).await;
    format!("{amount}\n")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("a delay of this file is short")
}
