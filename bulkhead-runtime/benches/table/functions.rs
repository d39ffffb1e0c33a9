//! The same body, bare, guarded by the attribute, and under each peer.

use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bulkhead_runtime::{BulkheadError, Verdict, bulkhead};
use tokio::sync::Semaphore;

/// What an application's error usually is.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct AppError(#[from] BulkheadError);

pub(crate) async fn bare(number: u64) -> Result<u64, AppError> {
    Ok(ready(black_box(number)).await)
}

#[bulkhead(name = "admitted", max = 64)]
pub(crate) async fn guarded(number: u64) -> Result<u64, AppError> {
    Ok(black_box(number))
}

#[bulkhead(name = "admitted-timeout", max = 64, timeout = 1s)]
pub(crate) async fn guarded_with_timeout(number: u64) -> Result<u64, AppError> {
    Ok(black_box(number))
}

#[bulkhead(name = "admitted-contract", max = 64, deadline = 1s, breaker(slow = 500ms))]
pub(crate) async fn guarded_with_contract(number: u64) -> Result<u64, AppError> {
    Ok(black_box(number))
}

fn is_transient(_: &AppError) -> bool {
    true
}

fn instead(number: u64, _: AppError) -> Ready<Result<u64, AppError>> {
    ready(Ok(number))
}

#[bulkhead(
    name = "admitted-retry", max = 64, retry(idempotent, attempts = 3, backoff = 10ms, when = is_transient),
    fallback = instead(number, error),
)]
pub(crate) async fn guarded_with_retry_and_fallback(number: u64) -> Result<u64, AppError> {
    Ok(black_box(number))
}

#[bulkhead(
    name = "rejected-open", max = 64, timeout = 1s,
    breaker(consecutive = 1, open_for = 1h, max_open_for = 1h), classify = |_: &_| Verdict::Failure,
)]
pub(crate) async fn guarded_and_open(number: u64) -> Result<u64, AppError> {
    Ok(black_box(number))
}

#[bulkhead(name = "rejected", max = 1)]
pub(crate) async fn guarded_and_full(number: u64) -> Result<u64, AppError> {
    Ok(black_box(number))
}

static FLOOR: AtomicU64 = AtomicU64::new(0);

/// The least that a permit can cost which is taken and given back by atomic operations.
pub(crate) async fn floor(number: u64) -> Result<u64, AppError> {
    let free = FLOOR.load(Ordering::Acquire);
    let taken = FLOOR.compare_exchange(free, free + 1, Ordering::AcqRel, Ordering::Acquire);
    let returned = ready(black_box(number)).await;
    FLOOR.fetch_sub(black_box(taken.is_ok()).into(), Ordering::AcqRel);
    Ok(returned)
}

static ROOM: Semaphore = Semaphore::const_new(64);

pub(crate) async fn semaphore(number: u64) -> Result<u64, AppError> {
    let _permit = ROOM.acquire().await;
    Ok(black_box(number))
}

pub(crate) async fn semaphore_with_timeout(number: u64) -> Result<u64, AppError> {
    let _permit = ROOM.acquire().await;
    let body = async { Ok(black_box(number)) };
    tokio::time::timeout(Duration::from_secs(1), body)
        .await
        .expect("the body is ready at once")
}

static NO_ROOM: Semaphore = Semaphore::const_new(0);
static REJECTED: AtomicU64 = AtomicU64::new(0);

/// As large as a `BulkheadError`.
pub(crate) type ErrorOfThatSize = [u64; size_of::<BulkheadError>() / 8];

pub(crate) async fn semaphore_and_full(number: u64) -> Result<u64, ErrorOfThatSize> {
    let Ok(_permit) = NO_ROOM.try_acquire() else {
        REJECTED.fetch_add(1, Ordering::Relaxed);
        return Err(black_box([number; _]));
    };
    Ok(black_box(number))
}

/// Runs `calls` futures that are ready in their first poll, one after the other.
pub(crate) fn run_ready<F: Future>(calls: u64, call: impl Fn(u64) -> F) -> Duration {
    let mut cx = Context::from_waker(Waker::noop());
    let start = Instant::now();
    for number in 0..calls {
        let future = pin!(call(black_box(number)));
        match future.poll(&mut cx) {
            Poll::Ready(output) => drop(black_box(output)),
            Poll::Pending => unreachable!("the body is ready at once"),
        }
    }
    start.elapsed()
}
