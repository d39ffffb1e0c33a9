//! A call that finds none, with a queue of 0.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bulkhead_runtime::partition;
use tokio::runtime::Runtime;
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::functions::{
    AppError, guarded_and_full, guarded_and_open, run_ready, semaphore_and_full,
};
use crate::pair::{Goal, Ratio, Row};

const CALLS: u64 = 50_000;

pub(crate) fn rows() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let full = partition("rejected").expect("declared beside the function");
    let _held = full.try_enter().expect("it is free");
    let ours = || run_ready(CALLS, guarded_and_full);
    // Its first call opens it, for an hour.
    run_ready(1, guarded_and_open);
    vec![
        Row {
            situation: "rejected, full, queue 0, through the attribute".into(),
            beside: "failed tokio `try_acquire`, counted, error of that size",
            ratio: Ratio::of_pair(151, ours, || run_ready(CALLS, semaphore_and_full)),
            goal: Goal::AtMost(3.0),
        },
        Row {
            situation: "rejected by an open breaker".into(),
            beside: "failed tokio `try_acquire`, counted, error of that size",
            ratio: Ratio::of_pair(
                151,
                || run_ready(CALLS, guarded_and_open),
                || run_ready(CALLS, semaphore_and_full),
            ),
            goal: Goal::Report,
        },
        Row {
            situation: "rejected".into(),
            beside: "tower `LoadShed` + `ConcurrencyLimit`",
            ratio: Ratio::of_pair(51, ours, || tower(&runtime)),
            goal: Goal::Report,
        },
    ]
}

fn tower(runtime: &Runtime) -> Duration {
    let hangs = |_| std::future::pending::<Result<u64, AppError>>();
    let mut service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .service_fn(hangs);
    runtime.block_on(async {
        let _held = service.ready().await.expect("it has room").call(0);
        let start = Instant::now();
        for number in 0..CALLS {
            let service = service
                .ready()
                .await
                .expect("load shedding is always ready");
            drop(black_box(service.call(black_box(number)).await));
        }
        start.elapsed()
    })
}
