//! Calls inside calls: who never waits for whom, and what the one around sees of the one inside.

mod common;

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, Deadline, Partition, Reason, bulkhead, partition, spawn};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

type Ends = Result<(), BulkheadError>;

/// Rejected in that instant, and not after a wait.
async fn at_once(call: impl Future<Output = Ends>) -> BulkheadError {
    let start = Instant::now();
    let error = call.await.expect_err("it holds the only permit itself");
    assert_eq!(start.elapsed(), Duration::ZERO, "{error}");
    assert_eq!(error.reason(), Reason::Full, "{error}");
    error
}

#[partition(name = "nesting", max = 1, queue = 4, wait = 100ms)]
static NESTING: Partition;

#[partition(name = "nesting-between", max = 1, queue = 4, wait = 100ms)]
static BETWEEN: Partition;

#[bulkhead(NESTING)]
async fn around<F: Future<Output = Ends>>(inside: impl FnOnce() -> F) -> Ends {
    inside().await
}

#[bulkhead(BETWEEN, deadline = 1s)]
async fn between<F: Future<Output = Ends>>(inside: impl FnOnce() -> F) -> Ends {
    inside().await
}

#[bulkhead(NESTING, timeout = 1s, breaker(consecutive = 9))]
async fn inside() -> Ends {
    yield_now().await;
    Ok(())
}

fn said(inner: &str, outer: &str) -> String {
    format!(
        "`nesting` is full: 1 of 1 permits in flight, 0 of 4 queue places taken; \
         `contract_nesting::{inner}` is called inside `contract_nesting::{outer}`, which holds one, and does not wait for it"
    )
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_a_call_of_its_partition_is_rejected_at_once_however_it_came_there() {
    let _isolated = bulkhead_runtime::test::isolate();
    let directly = at_once(around(inside)).await;
    assert_eq!(directly.to_string(), said("inside", "around"));
    let through_another = at_once(around(|| between(inside))).await;
    assert_eq!(through_another.to_string(), said("inside", "around"));
    let spawned = at_once(around(|| async {
        spawn(inside()).await.expect("no panic")
    }))
    .await;
    assert_eq!(spawned.to_string(), said("inside", "around"));
    let spawned_twice = || async {
        let task = spawn(async { spawn(between(inside)).await.expect("no panic") });
        task.await.expect("no panic")
    };
    assert_eq!(
        at_once(around(spawned_twice)).await.to_string(),
        said("inside", "around")
    );
    let later = || async {
        sleep(ms(30)).await;
        at_once(inside()).await;
        Ok(())
    };
    around(later).await.expect("it has handled that");
    let by_hand = || async { NESTING.enter().await.map(drop) };
    assert_eq!(
        at_once(around(by_hand)).await.to_string(),
        "`nesting` is full: 1 of 1 permits in flight, 0 of 4 queue places taken; \
         this call is made inside `contract_nesting::around`, which holds one, and does not wait for it"
    );
    let s = NESTING.snapshot();
    assert_eq!(
        (s.rejected.full, s.rejected.total(), s.highest_waiting),
        (6, 6, 0)
    );
    assert_idle(&NESTING);
    assert_idle(&BETWEEN);
}

#[bulkhead(name = "nesting-recursion", max = 3, queue = 4, wait = 100ms, deadline = 1s)]
async fn recursive(depth: u32) -> Result<u32, BulkheadError> {
    yield_now().await;
    if depth == 0 {
        return Ok(0);
    }
    Ok(Box::pin(recursive(depth - 1)).await? + 1)
}

#[tokio::test(start_paused = true)]
async fn a_recursion_deeper_than_the_partition_is_rejected_and_does_not_wait_for_itself() {
    let partition = partition("nesting-recursion").expect("it is declared");
    assert_eq!(recursive(2).await.expect("three permits"), 2);
    let start = Instant::now();
    let error = recursive(3).await.expect_err("the fourth");
    assert_eq!((error.reason(), start.elapsed()), (Reason::Full, ms(0)));
    let itself = "`contract_nesting::recursive` is called inside `contract_nesting::recursive`";
    assert!(error.to_string().contains(itself), "{error}");
    // Beside one another they wait: the second begins when the first has ended.
    let (one, other) = tokio::join!(recursive(2), recursive(0));
    assert_eq!(
        (one.expect("it was first"), other.expect("it waits")),
        (2, 0)
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn those_beside_a_call_wait_for_it_and_those_in_a_task_of_their_own() {
    let _isolated = bulkhead_runtime::test::isolate();
    let slow = || async {
        sleep(ms(30)).await;
        Ok(())
    };
    let (first, second, third) = tokio::join!(around(slow), inside(), around(slow));
    first.and(second).and(third).expect("in turn");
    assert_eq!(NESTING.snapshot().highest_waiting, 2);

    // Inside of one that holds a permit of another partition.
    between(|| async {
        let (first, second) = tokio::join!(around(slow), inside());
        first.and(second)
    })
    .await
    .expect("in turn");

    // Not so inside of one that holds a permit of theirs.
    around(|| async {
        let rejected = tokio::join!(at_once(inside()), at_once(inside()));
        assert_eq!(rejected.0.to_string(), rejected.1.to_string());
        Ok(())
    })
    .await
    .expect("it has handled that");

    let plainly_spawned = || async { tokio::spawn(inside()).await.expect("no panic") };
    let start = Instant::now();
    let error = around(plainly_spawned)
        .await
        .expect_err("it waits for the one around");
    assert_eq!(
        (error.reason(), start.elapsed()),
        (Reason::WaitTimeout, ms(100))
    );
    assert_idle(&NESTING);
}

#[tokio::test(start_paused = true)]
async fn once_a_call_is_gone_nobody_is_inside_it() {
    let _isolated = bulkhead_runtime::test::isolate();
    panics_on_purpose_are_silent();
    let panics = || async { std::panic::panic_any(ON_PURPOSE.to_owned()) };
    let mut panics = Box::pin(around(panics));
    let unwound = catch_unwind(AssertUnwindSafe(|| poll_once(panics.as_mut()).is_pending()));
    assert!(unwound.is_err(), "it panics");
    let mut dropped = Box::pin(around(pending));
    assert!(poll_once(dropped.as_mut()).is_pending());
    drop((panics, dropped));
    // While it runs in this very task, but is not what is polled.
    let mut runs = Box::pin(around(pending));
    assert!(poll_once(runs.as_mut()).is_pending());
    let mut waits = pin!(inside());
    assert!(poll_once(waits.as_mut()).is_pending());
    assert_eq!(NESTING.snapshot().waiting, 1, "it may wait");
    drop(runs);
    waits.await.expect("its turn");
    assert_idle(&NESTING);
}

#[tokio::test(start_paused = true)]
async fn where_there_is_room_a_call_inside_runs_and_both_permits_come_back() {
    #[partition(name = "nesting-room", max = 2, queue = 4, wait = 100ms, breaker(min_calls = 100))]
    static ROOM: Partition;
    #[bulkhead(ROOM, timeout = 1s)]
    async fn outer() -> Ends {
        inner().await
    }
    #[bulkhead(ROOM, timeout = 1s)]
    async fn inner() -> Ends {
        yield_now().await;
        Ok(())
    }
    outer().await.expect("there is room for both");
    let held = ROOM.try_enter().expect("it is free");
    assert_eq!(
        at_once(outer()).await.function(),
        Some("contract_nesting::inner")
    );
    let breaker = ROOM.breaker().expect("it has one").snapshot();
    assert_eq!(
        (breaker.calls, breaker.failures),
        (2, 0),
        "a rejection inside is no failure outside"
    );
    drop(held);
    assert_idle(&ROOM);
}

#[bulkhead(name = "nesting-watched", max = 4, timeout = 1s, breaker(min_calls = 100))]
async fn watched<F: Future<Output = Ends>>(inside: impl FnOnce() -> F) -> Ends {
    inside().await
}

fn failures_of_watched() -> u64 {
    let partition = partition("nesting-watched").expect("it is declared");
    let breaker = partition.breakers().next().expect("that of the function");
    breaker.snapshot().failures
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_that_is_late_is_no_failure_outside() {
    let _isolated = bulkhead_runtime::test::isolate();
    let _held = NESTING.try_enter().expect("it is free");
    let rejected = || Deadline::after(Duration::ZERO).scope(inside());
    watched(rejected).await.expect_err("it is late");
    assert_eq!(failures_of_watched(), 0);
}
