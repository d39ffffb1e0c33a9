//! The service: `/stock`, which asks no partner, and `/checkout`, which asks both.
//!
//! Two arrangements of one service: [`naive`] calls the partners as it is often written, [`contract`] calls them
//! under `#[bulkhead]`. Start reading there. A real service has one of the two, and no [`Arrangement`].

mod client;
mod contract;
mod door;
mod naive;
mod operators;

mod process;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bulkhead_runtime::BulkheadError;
use tokio::sync::Mutex;
use tokio::time::sleep;

use client::Client;
pub(crate) use contract::{PAYMENT, SHIPPING};
use door::Door;
pub(crate) use door::ROOM;
pub(crate) use process::run;

/// What the critical route does: a query, say.
const STOCK_WORK: Duration = Duration::from_millis(100);
/// What a checkout does before it asks anybody; with both partners it comes to 100 ms as well.
const CHECKOUT_WORK: Duration = Duration::from_millis(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    Naive,
    Contract,
}

impl Arrangement {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Contract => "contract",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        let both = [Self::Naive, Self::Contract];
        both.into_iter().find(|one| one.as_str() == name)
    }
}

/// What the handlers share.
struct Service {
    arrangement: Arrangement,
    payment: Client,
    shipping: Client,
    door: Door,
    is_ready: AtomicBool,
    /// The orders that are known to be charged: what a database is for.
    books: Mutex<Vec<u64>>,
    last_quote: Mutex<Option<u32>>,
}

fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/stock", get(stock))
        .route("/checkout/{order}", post(checkout))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&service),
            door::pass,
        ))
        .with_state(service)
}

async fn stock() -> &'static str {
    sleep(STOCK_WORK).await;
    "17 left\n"
}

async fn checkout(
    State(service): State<Arc<Service>>,
    Path(order): Path<u64>,
) -> Result<(StatusCode, String), ServiceError> {
    sleep(CHECKOUT_WORK).await;
    match service.arrangement {
        Arrangement::Naive => naive::checkout(service, order).await,
        Arrangement::Contract => contract::checkout(service, order).await,
    }
}

/// What shipping asks for a parcel, or what we think it would.
#[derive(Debug)]
struct Quote {
    cents: u32,
    is_estimate: bool,
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cents, is_estimate } = self;
        let about = if *is_estimate { "about " } else { "" };
        write!(f, "shipping {about}{cents} cents")
    }
}

/// Why a checkout has no answer.
#[derive(Debug)]
enum ServiceError {
    /// The bulkhead rejected the call, or cut it short.
    Bulkhead(BulkheadError),
    /// The partner refused and did nothing: who asks again may be luckier.
    Refused,
    /// The partner cannot be reached, or said nothing that we understand, or took too long.
    Partner,
}

impl ServiceError {
    const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused)
    }
}

impl From<BulkheadError> for ServiceError {
    fn from(error: BulkheadError) -> Self {
        Self::Bulkhead(error)
    }
}

impl IntoResponse for ServiceError {
    fn into_response(self) -> Response {
        match self {
            Self::Bulkhead(error) => error.into_response(),
            Self::Refused | Self::Partner => StatusCode::BAD_GATEWAY.into_response(),
        }
    }
}
