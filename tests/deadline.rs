//! Deadlines: what they bound, who they are told to, and what nests in what.

mod common;

use std::future::pending;
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{
    BulkheadError, Deadline, Measured, Partition, Policy, bulkhead, partition, register, spawn,
};
use common::{assert_idle, ms, plain, poll_once, queued};
use tokio::time::{Instant, advance};

#[bulkhead(name = "deadline-plain", max = 2)]
async fn hangs() -> Result<(), BulkheadError> {
    pending().await
}

#[bulkhead(name = "deadline-timed", max = 2, timeout = 100ms)]
async fn hangs_for(time: Duration) -> Result<(), BulkheadError> {
    tokio::time::sleep(time).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_deadline_nearer_than_the_wait_wins_and_says_so() {
    let partition = queued("deadline-wait", 1, 1, ms(100));
    let held = partition.try_enter().unwrap();
    let start = Instant::now();
    let error = Deadline::after(ms(30))
        .scope(partition.enter())
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), ms(30));
    assert!(!error.body_ran(), "{error}");
    assert_eq!(
        error.to_string(),
        "`deadline-wait` was not entered by its deadline, after 30ms in the queue: 1 of 1 permits in flight, 0 waiting"
    );
    assert_eq!(partition.snapshot().rejected.deadline, 1);

    let start = Instant::now();
    let error = Deadline::after(ms(300))
        .scope(partition.enter())
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), ms(100), "the wait is nearer");
    assert!(matches!(error, BulkheadError::WaitTimeout(_)), "{error}");
    drop(held);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_a_body_without_a_timeout() {
    let start = Instant::now();
    let error = Deadline::after(ms(40)).scope(hangs()).await.unwrap_err();
    assert_eq!(start.elapsed(), ms(40));
    assert!(error.body_ran(), "{error}");
    assert_eq!(error.retry_after(), None);
    assert_eq!(error.status(), 504);
    assert_eq!(
        error.to_string(),
        "`deadline-plain` was stopped by its deadline, after 40ms in the body; it had waited 0ns in the queue"
    );
    let partition = partition("deadline-plain").unwrap();
    assert_eq!(partition.snapshot().outcomes.timed_out, 1);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn the_nearer_of_timeout_and_deadline_is_told() {
    let error = Deadline::after(ms(40))
        .scope(hangs_for(ms(200)))
        .await
        .unwrap_err();
    assert!(
        matches!(error, BulkheadError::DeadlineExceeded(_)),
        "{error}"
    );
    let error = Deadline::after(ms(140))
        .scope(hangs_for(ms(200)))
        .await
        .unwrap_err();
    assert!(matches!(error, BulkheadError::CallTimeout(_)), "{error}");
    Deadline::after(ms(40))
        .scope(hangs_for(ms(30)))
        .await
        .expect("in time");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_rejects_before_a_permit_is_taken() {
    let partition = plain("deadline-passed", 1);
    let passed = Deadline::after(ms(5));
    advance(ms(5)).await;
    let error = passed.scope(partition.enter()).await.unwrap_err();
    assert!(!error.body_ran(), "{error}");
    let error = passed
        .scope(async { partition.try_enter().map(drop) })
        .await
        .unwrap_err();
    assert!(matches!(error, BulkheadError::DeadlineExceeded(_)));
    let error = passed.scope(hangs()).await.unwrap_err();
    assert!(!error.body_ran(), "{error}");
    let s = partition.snapshot();
    assert_eq!((s.rejected.deadline, s.highest_in_flight), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_finish_is_not_begun() {
    // 10 calls a second of 50 ms.
    let policy = Policy::new(4)
        .with_queue(2, ms(100))
        .with_measured(Measured::new(10, ms(50)));
    let partition = register("deadline-cannot-finish", policy).unwrap();
    let error = Deadline::after(ms(50))
        .scope(partition.enter())
        .await
        .unwrap_err();
    assert!(
        matches!(error, BulkheadError::DeadlineExceeded(_)),
        "{error}"
    );
    drop(
        Deadline::after(ms(51))
            .scope(partition.enter())
            .await
            .expect("there is time for the mean"),
    );
    // And again when a permit is handed over.
    let held: Vec<_> = (0..4).map(|_| partition.try_enter().unwrap()).collect();
    let mut waits = Box::pin(Deadline::after(ms(80)).scope(partition.enter()));
    assert!(poll_once(waits.as_mut()).is_pending());
    advance(ms(31)).await;
    drop(held);
    let Poll::Ready(Err(error)) = poll_once(waits.as_mut()) else {
        panic!("49 ms are left, and a call takes 50")
    };
    assert!(
        matches!(error, BulkheadError::DeadlineExceeded(_)),
        "{error}"
    );
    drop(waits);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_scope_can_only_narrow() {
    let near = Deadline::after(ms(10));
    let far = Deadline::after(ms(1_000));
    near.scope(far.scope(async {
        assert_eq!(Deadline::current(), Some(near));
    }))
    .await;
    far.scope(async {
        near.scope(async { assert_eq!(Deadline::current(), Some(near)) })
            .await;
        assert_eq!(Deadline::current(), Some(far), "and it ends with its scope");
    })
    .await;
    assert_eq!(Deadline::current(), None);
}

#[tokio::test(start_paused = true)]
async fn futures_side_by_side_do_not_see_each_others_deadline() {
    let (near, far) = (Deadline::after(ms(10)), Deadline::after(ms(20)));
    let look = |deadline: Deadline| {
        deadline.scope(async move {
            for _ in 0..3 {
                assert_eq!(Deadline::current(), Some(deadline));
                tokio::task::yield_now().await;
            }
        })
    };
    let plain = async {
        for _ in 0..3 {
            assert_eq!(Deadline::current(), None);
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(look(near), plain, look(far));
}

#[tokio::test]
async fn a_panic_in_a_scope_leaves_no_deadline_behind() {
    common::panics_on_purpose_are_silent();
    let mut scope = Box::pin(Deadline::after(ms(10)).scope(async {
        std::panic::panic_any(common::ON_PURPOSE.to_owned());
    }));
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _panics = poll_once(scope.as_mut());
    }));
    assert!(unwound.is_err());
    assert_eq!(Deadline::current(), None);
}

#[partition(name = "deadline-nested", max = 1, queue = 4, wait = 100ms)]
static NESTED: Partition;

#[bulkhead(NESTED)]
async fn inner() -> Result<(), BulkheadError> {
    Ok(())
}

#[bulkhead(NESTED)]
async fn outer(by_spawn: bool) -> Result<(), BulkheadError> {
    if by_spawn {
        spawn(inner()).await.expect("no panic")
    } else {
        inner().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_a_call_of_the_same_partition_never_waits_for_it() {
    for by_spawn in [false, true] {
        let start = Instant::now();
        let error = outer(by_spawn).await.expect_err("it holds the only permit");
        assert_eq!(start.elapsed(), Duration::ZERO, "rejected, and not queued");
        assert_eq!(
            error.to_string(),
            "`deadline-nested` is full: 1 of 1 permits in flight, 0 of 4 queue places taken; \
             `deadline::inner` is called inside `deadline::outer`, which holds one, and does not wait for it"
        );
    }
    NESTED.resize(2).unwrap();
    outer(false).await.expect("there is room for both");
    NESTED.resize(1).unwrap();
    // Beside a call, and not inside it, one waits.
    let held = NESTED.try_enter().unwrap();
    let mut waits = Box::pin(inner());
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    waits.await.unwrap();
    assert_idle(&NESTED);
}

#[tokio::test(start_paused = true)]
async fn a_plain_task_starts_without_a_frame_and_a_carried_one_with_it() {
    let deadline = Deadline::after(ms(30));
    let (carried, plain) = deadline
        .scope(async {
            let carried = spawn(async { Deadline::current() });
            let plain = tokio::spawn(async { Deadline::current() });
            (carried.await.unwrap(), plain.await.unwrap())
        })
        .await;
    assert_eq!((carried, plain), (Some(deadline), None));
}
