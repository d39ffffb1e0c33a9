//! A permit that goes from call to call, with many waiting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_runtime::{Partition, Policy, register};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};

use crate::pair::{Goal, Ratio, Row};

/// Nobody waits so long; but the waiters of both sides have a timer.
const WAIT: Duration = Duration::from_secs(60);

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for depth in [64, 1024] {
        for workers in [1, 2] {
            let runtime = Builder::new_multi_thread()
                .worker_threads(workers)
                .enable_time()
                .build()
                .expect("a runtime");
            let policy = Policy::new(1).with_queue(depth, WAIT);
            let partition = register(&format!("queued-{depth}"), policy).expect("one policy");
            let semaphore = Arc::new(Semaphore::new(1));
            rows.push(Row {
                situation: format!("queued hand-off, {depth} deep, {workers} workers"),
                beside: "tokio semaphore under `timeout`",
                ratio: Ratio::of_pair(
                    41,
                    || through_partition(&runtime, partition, depth),
                    || through_semaphore(&runtime, &semaphore, depth),
                ),
                goal: Goal::AtMost(1.0),
            });
        }
    }
    rows
}

/// How often each task takes the permit in one turn.
fn turns(depth: u32) -> u32 {
    16_384 / depth
}

fn through_partition(runtime: &Runtime, partition: &'static Partition, depth: u32) -> Duration {
    runtime.block_on(async {
        let (start, mut tasks) = (Instant::now(), JoinSet::new());
        for _ in 0..depth {
            tasks.spawn(async move {
                for _ in 0..turns(depth) {
                    let permit = partition.enter().await.expect("a place for each task");
                    yield_now().await;
                    drop(permit);
                }
            });
        }
        tasks.join_all().await;
        start.elapsed()
    })
}

fn through_semaphore(runtime: &Runtime, semaphore: &Arc<Semaphore>, depth: u32) -> Duration {
    runtime.block_on(async {
        let (start, mut tasks) = (Instant::now(), JoinSet::new());
        for _ in 0..depth {
            let semaphore = Arc::clone(semaphore);
            tasks.spawn(async move {
                for _ in 0..turns(depth) {
                    let permit = tokio::time::timeout(WAIT, semaphore.acquire())
                        .await
                        .expect("nobody waits so long");
                    yield_now().await;
                    drop(permit);
                }
            });
        }
        tasks.join_all().await;
        start.elapsed()
    })
}
