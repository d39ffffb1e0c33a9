//! A call that finds room, on one thread.

use std::time::Duration;

use tower::{Service, ServiceBuilder, ServiceExt};
use tower_resilience_bulkhead::BulkheadLayer;

use crate::functions::{
    bare, floor, guarded, guarded_with_contract, guarded_with_retry_and_fallback,
    guarded_with_timeout, run_ready, semaphore, semaphore_with_timeout,
};
use crate::pair::{Goal, Ratio, Row};

const ROUNDS: usize = 151;
const CALLS: u64 = 50_000;

pub(crate) fn rows() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let _context = runtime.enter();
    vec![
        Row {
            situation: "admitted, body ready at once, net of the bare body".into(),
            beside: "tokio `acquire().await` + drop",
            ratio: net(|| run_ready(CALLS, guarded), || run_ready(CALLS, semaphore)),
            goal: Goal::AtMost(0.4),
        },
        Row {
            situation: "control: one compare-exchange and one subtraction around the body".into(),
            beside: "tokio `acquire().await` + drop",
            ratio: net(|| run_ready(CALLS, floor), || run_ready(CALLS, semaphore)),
            goal: Goal::Report,
        },
        Row {
            situation: "admitted, with `timeout`".into(),
            beside: "tokio acquire + `timeout`",
            ratio: net(
                || run_ready(CALLS, guarded_with_timeout),
                || run_ready(CALLS, semaphore_with_timeout),
            ),
            goal: Goal::AtMost(0.8),
        },
        Row {
            situation: "admitted, with `deadline` and a closed breaker".into(),
            beside: "tokio `acquire().await` + drop",
            ratio: net(
                || run_ready(CALLS, guarded_with_contract),
                || run_ready(CALLS, semaphore),
            ),
            goal: Goal::AtMost(1.0),
        },
        Row {
            situation: "admitted, with `retry` and `fallback`, neither needed".into(),
            beside: "tokio `acquire().await` + drop",
            ratio: net(
                || run_ready(CALLS, guarded_with_retry_and_fallback),
                || run_ready(CALLS, semaphore),
            ),
            goal: Goal::Report,
        },
        Row {
            situation: "admitted".into(),
            beside: "tower `LoadShed` + `ConcurrencyLimit`",
            ratio: net(|| run_ready(CALLS, guarded), || tower(&runtime)),
            goal: Goal::Report,
        },
        Row {
            situation: "admitted".into(),
            beside: "tower-resilience-bulkhead",
            ratio: net(|| run_ready(CALLS, guarded), || tower_resilience(&runtime)),
            goal: Goal::Report,
        },
    ]
}

/// The ratio of what each side costs more than the body alone.
fn net(mut ours: impl FnMut() -> Duration, mut theirs: impl FnMut() -> Duration) -> Ratio {
    Ratio::of(ROUNDS, || {
        let [ours, bare, theirs] =
            [ours(), run_ready(CALLS, bare), theirs()].map(|time| time.as_secs_f64());
        (ours - bare) / (theirs - bare)
    })
}

fn tower(runtime: &tokio::runtime::Runtime) -> Duration {
    let service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(64)
        .service_fn(bare);
    calls(runtime, service)
}

fn tower_resilience(runtime: &tokio::runtime::Runtime) -> Duration {
    let layer = BulkheadLayer::builder()
        .max_concurrent_calls(64)
        .build()
        .expect("a legal number");
    let service = ServiceBuilder::new().layer(layer).service_fn(bare);
    calls(runtime, service)
}

fn calls<S, E>(runtime: &tokio::runtime::Runtime, mut service: S) -> Duration
where
    S: Service<u64, Response = u64, Error = E>,
    E: std::fmt::Debug,
{
    let start = std::time::Instant::now();
    runtime.block_on(async {
        for number in 0..CALLS {
            let service = service.ready().await.expect("it has room");
            service
                .call(std::hint::black_box(number))
                .await
                .expect("it has room");
        }
    });
    start.elapsed()
}
