//! What is for those who run the service: a port of their own, which is open until the very end, and lines of text.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use bulkhead_runtime::{Event, Partition, snapshots};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{PAYMENT, SHIPPING, Service};
use crate::HEAP;

pub(super) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/ready", get(ready))
        .route("/gauges", get(gauges))
        .with_state(service)
}

async fn ready(State(service): State<Arc<Service>>) -> StatusCode {
    if service.is_ready.load(Ordering::Relaxed) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

async fn gauges(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(json!({
        "heap": HEAP.current_usage(),
        "inside": service.door.inside(),
        "at_door": service.door.waiting(),
        "payment": gauges_of(&PAYMENT),
        "shipping": gauges_of(&SHIPPING),
    }))
}

fn gauges_of(partition: &Partition) -> Value {
    let snapshot = partition.snapshot();
    json!({ "in_flight": snapshot.in_flight, "waiting": snapshot.waiting })
}

/// What can only be told at the end.
pub(super) async fn last_words(service: &Service) -> Value {
    json!({
        "books": *service.books.lock().await,
        "payment": highest_of(&PAYMENT),
        "shipping": highest_of(&SHIPPING),
    })
}

fn highest_of(partition: &Partition) -> Value {
    let snapshot = partition.snapshot();
    json!({
        "in_flight": snapshot.highest_in_flight,
        "waiting": snapshot.highest_waiting,
    })
}

/// A line for each move of a breaker, with the seconds since `begin`.
pub(super) fn tell_of_breakers(begin: Instant) -> impl Fn(&Event<'_>) {
    move |event| {
        if let Event::Breaker {
            partition,
            transition,
            ..
        } = event
        {
            let name = partition.name();
            let at = begin.elapsed().as_secs_f64();
            let (state, cause) = (transition.to, transition.cause);
            println!("{at:4.1} s: the breaker of {name} is {state}: {cause}");
        }
    }
}

/// A line for each partition that had calls.
pub(super) fn tell_of_calls() {
    for counts in snapshots().iter().filter(|counts| counts.started > 0) {
        println!(
            "{}: {:.2} attempts a call, {} retries made and {} not afforded, {} fallbacks, {} rejected",
            counts.name,
            counts.attempts_per_call(),
            counts.retries.made,
            counts.retries.budget_spent,
            counts.fallbacks.answered,
            counts.rejected.total(),
        );
    }
}
