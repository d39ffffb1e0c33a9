//! A call allocates nothing: not on the way in, not when it is rejected, and not in the queue once
//! the queue has been as long before.

mod common;

use std::pin::pin;
use std::task::Poll;

use allocation_counter::measure;
use bulkhead_runtime::{BulkheadError, BulkheadLayer, Deadline, Partition, bulkhead, partition};
use common::{ms, poll_once, queued};
use tower::{Layer, Service, service_fn};

#[bulkhead(name = "allocations", max = 2)]
async fn plain(number: u64) -> Result<u64, BulkheadError> {
    Ok(number)
}

#[bulkhead(name = "allocations-timeout", max = 2, timeout = 1s)]
async fn timed(number: u64) -> Result<u64, BulkheadError> {
    tokio::task::yield_now().await;
    Ok(number)
}

#[bulkhead(
    name = "allocations-contract", max = 2, queue = 2, wait = 5ms, timeout = 1s, deadline = 2s, margin = 100ms,
    breaker(slow = 500ms),
)]
async fn contracted(number: u64, yields: bool) -> Result<u64, BulkheadError> {
    if yields {
        tokio::task::yield_now().await;
    }
    Ok(number)
}

fn never(_: &BulkheadError) -> bool {
    false
}

#[expect(
    clippy::unused_async,
    reason = "a fallback is async, also one that waits for nothing"
)]
async fn instead(number: u64, error: BulkheadError) -> Result<u64, BulkheadError> {
    if number > 0 { Ok(number) } else { Err(error) }
}

/// With an argument that an allocation would show of, were it cloned.
#[bulkhead(
    name = "allocations-whole", max = 1, deadline = 5s,
    retry(idempotent, attempts = 3, backoff = 1ms, when = never), fallback = instead(number, error),
)]
async fn whole(number: u64, name: &str) -> Result<u64, BulkheadError> {
    tokio::task::yield_now().await;
    Ok(number + name.len() as u64)
}

#[bulkhead(name = "allocations-kept", max = 1, fallback = instead(number, error))]
async fn keeps_a_number(number: u64, name: String) -> Result<u64, BulkheadError> {
    Ok(number + name.len() as u64)
}

#[partition(name = "allocations-watched", max = 2, queue = 2, wait = 5ms, breaker())]
static WATCHED: Partition;

#[bulkhead(WATCHED, timeout = 1s)]
async fn watched(number: u64, yields: bool) -> Result<u64, BulkheadError> {
    if yields {
        tokio::task::yield_now().await;
    }
    Ok(number)
}

/// Allocations of the second of two runs: the first warms up.
fn once_warm(mut run: impl FnMut()) -> u64 {
    run();
    measure(run).count_total
}

fn entered_runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
}

#[test]
fn the_counter_counts() {
    assert!(
        once_warm(|| drop(std::hint::black_box(Box::new(7)))) > 0,
        "a box is an allocation"
    );
}

#[test]
fn the_layer_allocates_nothing_of_its_own() {
    let partition = queued("allocations-layer", 1, 1, ms(50));
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let mut service = BulkheadLayer::new(partition)
        .timeout(ms(100))
        .reject(|error: BulkheadError| Err::<u32, _>(error))
        .layer(service_fn(|number: u32| async move {
            tokio::task::yield_now().await;
            Ok(number)
        }));
    let allocated = once_warm(|| {
        for number in 0..200 {
            let mut admitted = pin!(service.call(number));
            assert!(poll_once(admitted.as_mut()).is_pending());
            let mut waits = pin!(service.call(number));
            assert!(poll_once(waits.as_mut()).is_pending());
            assert!(poll_once(pin!(service.call(number))).is_ready(), "rejected");
            assert!(poll_once(admitted).is_ready());
            assert!(poll_once(waits.as_mut()).is_pending());
            assert!(poll_once(waits).is_ready());
        }
    });
    assert_eq!(allocated, 0);
}

#[test]
fn an_admitted_call_allocates_nothing() {
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let allocated = once_warm(|| {
        for number in 0..200 {
            assert!(poll_once(pin!(plain(number))).is_ready());
            let mut timed = pin!(timed(number));
            assert!(poll_once(timed.as_mut()).is_pending());
            assert!(poll_once(timed).is_ready());
        }
    });
    assert_eq!(allocated, 0);
    assert!(
        partition("allocations")
            .unwrap()
            .snapshot()
            .outcomes
            .success
            >= 400
    );
}

#[test]
fn a_rejected_call_allocates_nothing() {
    let full = queued("allocations-full", 1, 1, ms(5));
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let _held = full.try_enter().unwrap();
    let mut waiting = pin!(full.enter());
    assert!(poll_once(waiting.as_mut()).is_pending());
    let allocated = once_warm(|| {
        for _ in 0..200 {
            assert!(full.try_enter().is_err());
            assert!(poll_once(pin!(full.enter())).is_ready());
            assert!(poll_once(pin!(full.call(async {}).timeout(ms(5)))).is_ready());
        }
    });
    assert_eq!(allocated, 0);
    assert!(
        full.snapshot().rejected.full >= 1_200,
        "{:?}",
        full.snapshot()
    );
}

#[test]
fn a_queued_call_allocates_nothing_once_the_queue_has_been_as_long() {
    let partition = queued("allocations-queued", 1, 3, ms(50));
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let allocated = once_warm(|| {
        for _ in 0..100 {
            hand_over_three_times(partition);
        }
    });
    assert_eq!(allocated, 0);
    assert!(
        partition.snapshot().outcomes.success >= 800,
        "{:?}",
        partition.snapshot()
    );
}

fn hand_over_three_times(partition: &'static Partition) {
    let held = partition.try_enter().expect("everybody has left");
    let (mut first, mut second, mut third) = (
        pin!(partition.enter()),
        pin!(partition.enter()),
        pin!(partition.enter()),
    );
    for waiter in [first.as_mut(), second.as_mut(), third.as_mut()] {
        assert!(poll_once(waiter).is_pending(), "the permit is taken");
    }
    drop(held);
    for waiter in [first, second, third] {
        assert!(poll_once(waiter).is_ready(), "its turn");
    }
}

/// Polled until it is ready.
fn runs<T>(call: impl Future<Output = Result<T, BulkheadError>>, polls: u32) {
    let mut call = pin!(call);
    for _ in 1..polls {
        assert!(poll_once(call.as_mut()).is_pending(), "it yields");
    }
    assert!(
        matches!(poll_once(call), Poll::Ready(Ok(_))),
        "there is room, and time"
    );
}

#[test]
fn a_call_under_deadlines_and_closed_breakers_allocates_nothing() {
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let inherited = Deadline::after(ms(10_000));
    let allocated = once_warm(|| {
        for number in 0..200 {
            runs(contracted(number, false), 1);
            runs(contracted(number, true), 2);
            runs(watched(number, false), 1);
            runs(watched(number, true), 2);
            runs(inherited.scope(contracted(number, true)), 2);
            runs(inherited.scope(watched(number, true)), 2);
            runs(inherited.scope(plain(number)), 1);
            runs(inherited.scope(timed(number)), 2);
        }
    });
    assert_eq!(allocated, 0);
    for (name, least) in [
        ("allocations-contract", 1_200),
        ("allocations-watched", 1_200),
    ] {
        let partition = partition(name).unwrap();
        assert!(partition.snapshot().outcomes.success >= least);
        let breaker = partition.breakers().next().expect("it has one").snapshot();
        assert!(breaker.calls >= least, "it has seen them: {breaker:?}");
    }
}

#[test]
fn a_call_that_a_breaker_or_a_deadline_rejects_allocates_nothing() {
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let full = queued("allocations-spent", 1, 1, ms(5));
    let _isolated = bulkhead_runtime::test::isolate();
    WATCHED.breaker().expect("it has one").force_open();
    let spent = Deadline::after(ms(0));
    let allocated = once_warm(|| {
        for number in 0..200 {
            assert!(poll_once(pin!(watched(number, true))).is_ready());
            assert!(poll_once(pin!(spent.scope(contracted(number, true)))).is_ready());
            assert!(poll_once(pin!(spent.scope(full.enter()))).is_ready());
        }
    });
    assert_eq!(allocated, 0);
    assert_eq!(WATCHED.snapshot().rejected.breaker_open, 400);
    assert_eq!(full.snapshot().rejected.deadline, 400);
}

#[test]
fn retries_and_a_fallback_that_are_not_needed_allocate_nothing() {
    let _isolated = bulkhead_runtime::test::isolate();
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let allocated = once_warm(|| {
        for number in 0..200 {
            runs(whole(number, "name"), 2);
        }
    });
    assert_eq!(allocated, 0);
    let names: Vec<_> = (0..400).map(|_| "name".to_owned()).collect();
    let mut names = names.into_iter();
    let allocated = once_warm(|| {
        for name in names.by_ref().take(200) {
            runs(keeps_a_number(1, name), 1);
        }
    });
    assert_eq!(allocated, 0, "it clones what its fallback does not name");
}

#[test]
fn a_fallback_that_answers_allocates_nothing_of_ours() {
    let _isolated = bulkhead_runtime::test::isolate();
    let runtime = entered_runtime();
    let _context = runtime.enter();
    let partition = partition("allocations-whole").unwrap();
    let _held = partition.try_enter().expect("it is free");
    let allocated = once_warm(|| {
        for number in 1..=200 {
            runs(whole(number, "name"), 1);
        }
    });
    assert_eq!(allocated, 0);
    assert_eq!(partition.snapshot().fallbacks.answered, 400);
}
