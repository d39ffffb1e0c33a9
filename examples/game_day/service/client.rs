//! One partner as the service sees it: an address, and connections to it.

use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::http::request::Builder;

use super::ServiceError;
use crate::http::{Http, post};

pub(super) struct Client {
    http: Http,
    address: SocketAddr,
}

impl Client {
    pub(super) fn of(address: SocketAddr) -> Self {
        Self {
            http: Http::new(),
            address,
        }
    }

    pub(super) fn post(&self, path: &str) -> Builder {
        post(self.address, path)
    }

    /// The amount that it answers with.
    pub(super) async fn cents(&self, request: Builder) -> Result<u32, ServiceError> {
        let answer = self.http.send(request).await;
        match answer.map_err(|_| ServiceError::Partner)? {
            (StatusCode::OK, cents) => cents.parse().map_err(|_| ServiceError::Partner),
            (StatusCode::SERVICE_UNAVAILABLE, _) => Err(ServiceError::Refused),
            _ => Err(ServiceError::Partner),
        }
    }
}
