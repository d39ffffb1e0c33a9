//! HTTP over loopback: a place to listen, and a client that keeps its connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{Request, StatusCode};
use axum::serve::ListenerExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// A free port of loopback.
pub(crate) async fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until `stop` is ready, and then finishes what it has accepted.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    // Without it, small packets wait for the acknowledgement of others, and that is up to 40 ms.
    let listener = listener.tap_io(|connection| {
        connection
            .set_nodelay(true)
            .expect("loopback takes the option");
    });
    axum::serve(listener, router)
        .with_graceful_shutdown(stop)
        .await
        .expect("axum's serve never fails");
}

/// A client.
#[derive(Debug, Clone)]
pub(crate) struct Http(Client<HttpConnector, Body>);

impl Http {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Client::builder(TokioExecutor::new()).build(connector))
    }

    /// One request without a body, and the text of its answer.
    ///
    /// Dropped before that, it closes its connection, which is how a server learns that a client has left.
    pub(crate) async fn send(&self, request: Builder) -> Result<(StatusCode, String), Error> {
        let response = self.0.request(request.body(Body::empty())?).await?;
        let status = response.status();
        let body = to_bytes(Body::new(response.into_body()), LONGEST_ANSWER).await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// The longest is that of the gauges.
const LONGEST_ANSWER: usize = 1 << 16;

pub(crate) fn get(to: SocketAddr, path: &str) -> Builder {
    Request::get(format!("http://{to}{path}"))
}

pub(crate) fn post(to: SocketAddr, path: &str) -> Builder {
    Request::post(format!("http://{to}{path}"))
}
