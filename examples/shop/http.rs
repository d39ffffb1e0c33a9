//! HTTP over loopback: a server that can be stopped, and a client.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A router that listens on loopback.
pub(crate) struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl Server {
    /// Listens on `port`, or on a free one when that is 0.
    pub(crate) async fn start(port: u16, router: Router) -> Result<Self, HttpError> {
        let listen = |error| HttpError::Listen { port, error };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async {
            axum::serve(listener, router)
                // It also stops when nobody is left who could say so.
                .with_graceful_shutdown(async { drop(stopped.await) })
                .await
        });
        Ok(Self {
            address,
            stop,
            task,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Finishes the requests that it has and frees the port.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        let served = self.task.await.expect("serving does not panic");
        served.expect("axum's serve never fails");
    }
}

/// A client that keeps its connections.
#[derive(Debug, Clone)]
pub(crate) struct Http(Client<HttpConnector, Body>);

impl Http {
    pub(crate) fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// One request without a body, and the text of its answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        to: SocketAddr,
        path: &str,
    ) -> Result<(StatusCode, String), HttpError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{to}{path}"))
            .body(Body::empty())
            .map_err(broken)?;
        let response = self.0.request(request).await.map_err(broken)?;
        let status = response.status();
        let body = to_bytes(Body::new(response.into_body()), LONGEST_ANSWER)
            .await
            .map_err(broken)?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// No answer of this example is longer.
const LONGEST_ANSWER: usize = 4096;

/// What can go wrong on the way, in a line that says what to do where there is something to do.
#[derive(Debug)]
pub(crate) enum HttpError {
    Listen { port: u16, error: io::Error },
    Signal(io::Error),
    Broken(Box<dyn std::error::Error + Send + Sync>),
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::Broken(Box::new(error))
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { port, error } if error.kind() == io::ErrorKind::AddrInUse => write!(
                f,
                "port {port} is in use: stop what listens there, or choose another with `--port N`"
            ),
            Self::Listen { port, error } => {
                write!(
                    f,
                    "cannot listen on port {port}: {error}; choose another with `--port N`"
                )
            }
            Self::Signal(error) => write!(f, "cannot wait for ctrl-C: {error}"),
            Self::Broken(error) => write!(f, "no answer over loopback: {error}"),
        }
    }
}
