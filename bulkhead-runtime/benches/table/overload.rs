//! Goodput while ten times the capacity is rejected on the same cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bulkhead_runtime::bulkhead;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::functions::AppError;
use crate::pair::{Goal, Ratio, Row};

const MAX: u64 = 8;
const BODY: Duration = Duration::from_millis(1);
const TURN: Duration = Duration::from_millis(250);

#[bulkhead(name = "overload", max = 8)]
async fn guarded() -> Result<(), AppError> {
    sleep(BODY).await;
    Ok(())
}

pub(crate) fn rows() -> Vec<Row> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    vec![Row {
        situation: "goodput while ten times the capacity is rejected".into(),
        beside: "goodput at exactly the capacity",
        ratio: Ratio::of(31, || {
            let calm = goodput(&runtime, 0);
            let overloaded = goodput(&runtime, 10 * MAX * 1_000);
            overloaded / calm
        }),
        goal: Goal::AtLeast(0.97),
    }]
}

/// Finished calls a second with as many callers as permits, beside `rejected` calls a second more.
fn goodput(runtime: &Runtime, rejected: u64) -> f64 {
    runtime.block_on(async {
        let (over, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let mut tasks = JoinSet::new();
        for _ in 0..MAX {
            let (over, done) = (Arc::clone(&over), Arc::clone(&done));
            tasks.spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    if guarded().await.is_ok() {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        if rejected > 0 {
            tasks.spawn(excess(Arc::clone(&over), rejected));
        }
        let start = Instant::now();
        sleep(TURN).await;
        let finished = done.load(Ordering::Relaxed);
        let time = start.elapsed();
        over.store(true, Ordering::Relaxed);
        tasks.join_all().await;
        f64::from(u32::try_from(finished).expect("a quarter of a second")) / time.as_secs_f64()
    })
}

/// So many calls a second, in a burst every millisecond. One that finds room, because a caller has
/// just left it, is dropped: it would take the place of one that counts.
async fn excess(over: Arc<AtomicBool>, rate: u64) {
    let mut every = tokio::time::interval(Duration::from_millis(1));
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    while !over.load(Ordering::Relaxed) {
        every.tick().await;
        for _ in 0..rate / 1_000 {
            let _ = futures_poll_once(guarded());
        }
    }
}

fn futures_poll_once<F: Future>(future: F) -> bool {
    let mut future = std::pin::pin!(future);
    future
        .as_mut()
        .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
        .is_ready()
}
