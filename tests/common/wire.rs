//! Real servers and clients on loopback, for those test files that need them.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bulkhead_runtime::Partition;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

use super::ms;

pub(crate) async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

pub(crate) fn client(http2: bool) -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new())
        .http2_only(http2)
        .build_http()
}

pub(crate) fn request(to: SocketAddr, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("http://{to}{path}"))
        .body(body.into())
        .expect("a request")
}

/// A failure is a hang that ends.
pub(crate) async fn soon<F: Future>(what: &str, awaited: F) -> F::Output {
    let waited = tokio::time::timeout(Duration::from_secs(20), awaited).await;
    waited.unwrap_or_else(|_| panic!("never came: {what}"))
}

/// Waits until it is so, which the other side of a socket brings about.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let polling = async {
        while !is_so() {
            tokio::time::sleep(ms(1)).await;
        }
    };
    soon(what, polling).await;
}

pub(crate) fn in_flight(partition: &Partition) -> u64 {
    partition.snapshot().in_flight
}
