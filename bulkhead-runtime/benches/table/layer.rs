//! The layer, beside tower's own.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bulkhead_runtime::{BulkheadError, BulkheadLayer, Partition, Policy, register};
use tokio::runtime::Runtime;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::pair::{Goal, Ratio, Row};

const CALLS: u64 = 50_000;
const ROUNDS: usize = 51;

pub(crate) fn rows() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let [free, full] = [partition("layer-free", 64), partition("layer-full", 1)];
    let _held = full.try_enter().expect("it is free");
    vec![
        Row {
            situation: "admitted, through the layer".into(),
            beside: "tower `LoadShed` + `ConcurrencyLimit`",
            ratio: Ratio::of_pair(ROUNDS, || ours(&runtime, free), || theirs(&runtime, 64)),
            goal: Goal::Report,
        },
        Row {
            situation: "rejected, through the layer".into(),
            beside: "tower `LoadShed` + `ConcurrencyLimit`",
            ratio: Ratio::of_pair(ROUNDS, || ours(&runtime, full), || theirs(&runtime, 0)),
            goal: Goal::Report,
        },
    ]
}

fn partition(name: &str, max: u32) -> &'static Partition {
    register(name, Policy::new(max)).expect("a name of its own")
}

async fn answer(number: u64) -> Result<u64, Infallible> {
    Ok(number)
}

fn ours(runtime: &Runtime, partition: &'static Partition) -> Duration {
    let layer = BulkheadLayer::new(partition).reject(|error: BulkheadError| Err::<u64, _>(error));
    let service = service_fn(|number| async move {
        match answer(number).await {
            Ok(number) => Ok(number),
            Err(never) => match never {},
        }
    });
    calls(runtime, layer.layer(service))
}

/// `max` of 0: every call is shed.
fn theirs(runtime: &Runtime, max: usize) -> Duration {
    let service = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(max)
        .service_fn(answer);
    calls(runtime, service.map_err(BoxError::from))
}

fn calls<S: Service<u64, Response = u64>>(runtime: &Runtime, mut service: S) -> Duration {
    let start = Instant::now();
    runtime.block_on(async {
        for number in 0..CALLS {
            let Ok(ready) = service.ready().await else {
                unreachable!("both are always ready")
            };
            drop(black_box(ready.call(black_box(number)).await));
        }
    });
    start.elapsed()
}
