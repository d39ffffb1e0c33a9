//! How much larger a future gets under the attribute.

use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "footprint-shared", max = 1)]
static SHARED: Partition;

#[partition(name = "footprint-watched", max = 1, breaker())]
static WATCHED: Partition;

macro_rules! functions {
    ($($(#[$attribute:meta])? $name:ident)*) => {$(
        $(#[$attribute])?
        async fn $name(argument: [u8; 1024]) -> Result<usize, BulkheadError> {
            tokio::task::yield_now().await;
            Ok(argument.len())
        }
    )*};
}

functions! {
    plain
    #[bulkhead(name = "footprint", max = 1)] bare
    #[bulkhead(name = "footprint-timeout", max = 1, timeout = 1s)] timed
    #[bulkhead(name = "footprint-queue", max = 1, queue = 1, wait = 5ms)] queued
    #[bulkhead(name = "footprint-both", max = 1, queue = 1, wait = 5ms, timeout = 1s)] both
    #[bulkhead(SHARED)] by_path
    #[bulkhead(WATCHED, timeout = 1s)] watched
    #[bulkhead(name = "footprint-contract", max = 1, queue = 1, wait = 5ms, timeout = 1s, deadline = 2s, margin = 5ms, breaker())] contract
    #[bulkhead(name = "footprint-settle", max = 1, settle)] settles
    #[bulkhead(name = "footprint-fallback", max = 1, fallback = zero(error))] falls_back
    #[bulkhead(name = "footprint-retry", max = 1, retry(idempotent, attempts = 2, backoff = 1ms, when = never))] retries
}

fn zero(_: BulkheadError) -> std::future::Ready<Result<usize, BulkheadError>> {
    std::future::ready(Ok(0))
}

fn never(_: &BulkheadError) -> bool {
    false
}

#[test]
fn a_guarded_future_is_little_larger_than_the_plain_one() {
    const ARGUMENT: [u8; 1024] = [0; 1024];
    let plain = size_of_val(&plain(ARGUMENT));
    for (name, size, limit) in [
        ("bare", size_of_val(&bare(ARGUMENT)), 96),
        ("with a timeout", size_of_val(&timed(ARGUMENT)), 224),
        ("with a queue", size_of_val(&queued(ARGUMENT)), 224),
        ("with both", size_of_val(&both(ARGUMENT)), 224),
        ("by path", size_of_val(&by_path(ARGUMENT)), 224),
        ("below a breaker", size_of_val(&watched(ARGUMENT)), 456),
        ("with a contract", size_of_val(&contract(ARGUMENT)), 456),
        ("that settles", size_of_val(&settles(ARGUMENT)), 696),
        ("with a fallback", size_of_val(&falls_back(ARGUMENT)), 848),
        // It has the argument twice: to be cloned, and the clone.
        ("with retries", size_of_val(&retries(ARGUMENT)) - 1024, 720),
    ] {
        let more = size - plain;
        assert!(
            more <= limit,
            "{name}: {more} bytes more than {plain}, the limit is {limit}"
        );
    }
}
