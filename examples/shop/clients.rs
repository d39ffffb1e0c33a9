//! How the shop calls its partners: the attribute stands here, on the outgoing side.
//!
//! A bulkhead belongs around the thing that can hang. On a handler it would count the requests of
//! our own users; here it counts what waits for one partner, whichever route it came from.

use std::net::SocketAddr;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bulkhead_runtime::BulkheadError;

use crate::http::{Http, HttpError};

/// An amount of money.
pub(crate) type Cents = u32;

/// Of the 50 requests for which the shop has room, at most 10 + 5 can wait for shipping and 15 + 5
/// for payment. Whatever the partners do, 15 stay free for everything else.
mod guarded {
    use bulkhead_runtime::bulkhead;

    use super::{Cents, Method, Partner, ShopError};

    #[bulkhead(name = "shipping", max = 10, queue = 5, wait = 50ms, timeout = 2s)]
    pub(super) async fn quote(shipping: &Partner, grams: u32) -> Result<Cents, ShopError> {
        shipping.ask(Method::GET, &format!("/quote/{grams}")).await
    }

    #[bulkhead(name = "payment", max = 15, queue = 5, wait = 50ms, timeout = 2s)]
    pub(super) async fn charge(payment: &Partner, amount: Cents) -> Result<Cents, ShopError> {
        payment
            .ask(Method::POST, &format!("/charge/{amount}"))
            .await
    }
}

/// The same two functions before anybody had thought of it.
mod unguarded {
    use super::{Cents, Method, Partner, ShopError};

    pub(super) async fn quote(shipping: &Partner, grams: u32) -> Result<Cents, ShopError> {
        shipping.ask(Method::GET, &format!("/quote/{grams}")).await
    }

    pub(super) async fn charge(payment: &Partner, amount: Cents) -> Result<Cents, ShopError> {
        payment
            .ask(Method::POST, &format!("/charge/{amount}"))
            .await
    }
}

/// Which of the two the shop uses. A real shop has one of them, and no such type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arrangement {
    Unguarded,
    Guarded,
}

/// The partners as the shop sees them.
#[derive(Clone)]
pub(crate) struct Partners {
    pub(crate) arrangement: Arrangement,
    pub(crate) shipping: Partner,
    pub(crate) payment: Partner,
}

impl Partners {
    /// What shipping asks for a parcel.
    pub(crate) async fn quote(&self, grams: u32) -> Result<Cents, ShopError> {
        match self.arrangement {
            Arrangement::Unguarded => unguarded::quote(&self.shipping, grams).await,
            Arrangement::Guarded => guarded::quote(&self.shipping, grams).await,
        }
    }

    /// Charges a card, and says what was charged.
    pub(crate) async fn charge(&self, amount: Cents) -> Result<Cents, ShopError> {
        match self.arrangement {
            Arrangement::Unguarded => unguarded::charge(&self.payment, amount).await,
            Arrangement::Guarded => guarded::charge(&self.payment, amount).await,
        }
    }
}

/// One partner: an address, and connections to it.
#[derive(Clone)]
pub(crate) struct Partner {
    http: Http,
    address: SocketAddr,
}

impl Partner {
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self {
            http: Http::new(),
            address,
        }
    }

    async fn ask(&self, method: Method, path: &str) -> Result<Cents, ShopError> {
        let (status, body) = self.http.send(method, self.address, path).await?;
        match body.trim().parse() {
            Ok(cents) if status == StatusCode::OK => Ok(cents),
            _ => Err(ShopError::Partner),
        }
    }
}

/// Why the shop has no answer.
#[derive(Debug)]
pub(crate) enum ShopError {
    /// The bulkhead rejected the call, or cut it short.
    Bulkhead(BulkheadError),
    /// The partner could not be reached, or what it said is no amount.
    Partner,
}

/// All that `#[bulkhead]` asks of an error type.
impl From<BulkheadError> for ShopError {
    fn from(error: BulkheadError) -> Self {
        Self::Bulkhead(error)
    }
}

impl From<HttpError> for ShopError {
    fn from(_: HttpError) -> Self {
        Self::Partner
    }
}

impl IntoResponse for ShopError {
    fn into_response(self) -> Response {
        match self {
            // 503 with `Retry-After`, or 504 after a timeout; the body is `application/problem+json`.
            Self::Bulkhead(error) => error.into_response(),
            Self::Partner => {
                (StatusCode::BAD_GATEWAY, "a partner gave no usable answer\n").into_response()
            }
        }
    }
}
