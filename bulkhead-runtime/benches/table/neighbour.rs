//! How late a neighbour is while a sibling partition rejects fifty thousand calls a second.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use bulkhead_runtime::{bulkhead, partition};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

use crate::functions::AppError;
use crate::pair::{Goal, Ratio, Row};

const A_SECOND: u64 = 50_000;
const TURN: Duration = Duration::from_millis(300);

#[bulkhead(name = "neighbour", max = 4)]
async fn neighbour() -> Result<(), AppError> {
    let end = Instant::now() + Duration::from_micros(200);
    while Instant::now() < end {
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[bulkhead(name = "sibling", max = 1)]
async fn sibling() -> Result<(), AppError> {
    Ok(())
}

static NO_ROOM: Semaphore = Semaphore::const_new(0);
static REJECTED: AtomicU64 = AtomicU64::new(0);

async fn by_hand() -> Result<(), [u64; 6]> {
    NO_ROOM
        .try_acquire()
        .map(drop)
        .map_err(|_| [REJECTED.fetch_add(1, Ordering::Relaxed); 6])
}

pub(crate) fn rows() -> Vec<Row> {
    let full = partition("sibling").expect("declared above");
    let _held = full.try_enter().expect("it is free");
    vec![Row {
        situation: "a neighbour's p99.9 while a sibling rejects 50,000/s".into(),
        beside: "the same beside a hand-written rejecter",
        ratio: Ratio::of_pair(25, || slowest(sibling), || slowest(by_hand)),
        goal: Goal::AtMost(1.05),
    }]
}

/// The time that one call in a thousand of the neighbour exceeds.
fn slowest<F>(rejecter: fn() -> F) -> Duration
where
    F: Future + Send + 'static,
{
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let over = Arc::new(AtomicBool::new(false));
        let rejecting = tokio::spawn(reject(rejecter, Arc::clone(&over)));
        let (mut times, end) = (Vec::new(), Instant::now() + TURN);
        while Instant::now() < end {
            let start = Instant::now();
            neighbour().await.expect("it has room");
            times.push(start.elapsed());
        }
        over.store(true, Ordering::Relaxed);
        rejecting.await.expect("it does not panic");
        times.sort();
        times[(times.len() - 1) * 999 / 1000]
    })
}

async fn reject<F: Future>(rejecter: fn() -> F, over: Arc<AtomicBool>) {
    let mut every = tokio::time::interval(Duration::from_millis(1));
    while !over.load(Ordering::Relaxed) {
        every.tick().await;
        for _ in 0..A_SECOND / 1_000 {
            drop(pin!(rejecter()).poll(&mut Context::from_waker(Waker::noop())));
        }
    }
}
