//! The service as a process of its own: how it begins, and how it ends.
//!
//! Its standard output is read by the one that started it: first the two addresses, then whatever it has to say,
//! last its [`last_words`] in one line of JSON.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bulkhead_runtime::{Drained, Overrides, configure, drain_all, subscribe, verify};
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::client::Client;
use super::door::Door;
use super::operators::{self, last_words, tell_of_breakers, tell_of_calls};
use super::{Arrangement, Service, router};
use crate::http::{Error, listen, serve};

/// How long a load balancer may take to notice that this instance is not ready any more. Until then it sends
/// requests, and they are accepted.
const UNTIL_NOTICED: Duration = Duration::from_millis(500);
/// As long as the longest call may take.
const LONGEST_DRAIN: Duration = Duration::from_secs(5);

/// Serves until SIGTERM, and then leaves nobody behind.
pub(crate) async fn run(
    arrangement: Arrangement,
    payment: SocketAddr,
    shipping: SocketAddr,
) -> Result<(), Error> {
    verify()?;
    configure(Overrides::from_env())?;
    let _telling = subscribe(tell_of_breakers(Instant::now()));
    let service = Arc::new(Service {
        arrangement,
        payment: Client::of(payment),
        shipping: Client::of(shipping),
        door: Door::new(),
        is_ready: AtomicBool::new(true),
        books: Mutex::default(),
        last_quote: Mutex::default(),
    });

    let (for_operators, operators) = listen().await?;
    let operators_router = operators::router(Arc::clone(&service));
    let forever = std::future::pending();
    tokio::spawn(serve(for_operators, operators_router, forever));
    let (for_users, users) = listen().await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(serve(for_users, router(Arc::clone(&service)), async {
        drop(stopped.await);
    }));
    println!("{users} {operators}");

    terminated().await?;
    let drained = shut_down(&service, stop, serving).await?;
    println!("partitions: {drained}");
    tell_of_calls();
    println!("{}", last_words(&service).await);
    if drained.is_complete() {
        Ok(())
    } else {
        Err("calls were left behind".into())
    }
}

/// In this order: nobody new is sent, everybody who was accepted has an answer, everything under way has ended.
async fn shut_down(
    service: &Service,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
) -> Result<Drained, Error> {
    service.is_ready.store(false, Ordering::Relaxed);
    sleep(UNTIL_NOTICED).await;
    drop(stop);
    serving.await?;
    // Charges whose users have their answer, or have left.
    Ok(drain_all(LONGEST_DRAIN).await)
}

#[cfg(unix)]
async fn terminated() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::terminate())?.recv().await;
    Ok(())
}

#[cfg(not(unix))]
async fn terminated() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
