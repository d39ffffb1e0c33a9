//! How the shop goes down: in order, in a known time, and saying what it left.
//!
//! 1. `/ready` answers 503, and for a moment nothing else changes: load balancers have to see it first.
//! 2. The server takes no new requests, and finishes those that it has; all partitions are open for them.
//! 3. All partitions drain: calls to partners that are under way come to their end, and new ones are rejected.
//! 4. The report says whether anything was left, and so does the exit code.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use bulkhead_runtime::drain_all;
use tokio::time::{sleep, timeout};

use crate::http::{HttpError, Server};

/// Longer than a load balancer takes to look again.
const NOTICE: Duration = Duration::from_secs(1);
/// What the server has for its requests: longer than the `timeout` of any call.
const GRACE: Duration = Duration::from_secs(5);
/// What calls have that are under way then. All three together are shorter than what whoever sent the signal
/// waits before it kills: 30 s for Kubernetes.
const DRAIN: Duration = Duration::from_secs(3);

/// Whether load balancers shall send requests here.
#[derive(Debug, Clone)]
pub(crate) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Adds `/ready` to a router, before everything that a request may have to wait for.
    pub(crate) fn route(&self, router: Router) -> Router {
        let ready = Router::new().route("/ready", get(ready));
        router.merge(ready.with_state(self.clone()))
    }
}

async fn ready(State(Readiness(ready)): State<Readiness>) -> (StatusCode, &'static str) {
    if ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "going down\n")
    }
}

/// Waits for ctrl-C, or for the signal by which everything that runs containers ends them.
pub(crate) async fn signal() -> Result<(), HttpError> {
    let first: io::Result<()> = async {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut terminate = signal(SignalKind::terminate())?;
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => interrupted,
                _ = terminate.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await
    }
    .await;
    first.map_err(HttpError::Signal)
}

/// Goes down.
pub(crate) async fn run(shop: Server, Readiness(ready): Readiness) -> ExitCode {
    ready.store(false, Ordering::Relaxed);
    println!("/ready answers 503; the server takes requests for another {NOTICE:?}");
    sleep(NOTICE).await;
    if timeout(GRACE, shop.stop()).await.is_err() {
        println!("requests are left after {GRACE:?}");
    }
    let drained = drain_all(DRAIN).await;
    println!("{drained}");
    if drained.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
