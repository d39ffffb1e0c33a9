//! The queue is short, fair, and never rejects a call for which there is room.

mod common;

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use bulkhead_runtime::{BulkheadError, Policy};
use common::{Woken, assert_idle, ms, plain, poll_once, queued};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, advance};

#[test]
fn the_ninth_is_rejected_in_its_first_poll() {
    let partition = queued("bounded", 1, 8, ms(60_000));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _context = runtime.enter();
    let held = partition.try_enter().unwrap();
    let mut waiters: Vec<_> = (0..8).map(|_| Box::pin(partition.enter())).collect();
    assert!(
        waiters
            .iter_mut()
            .all(|waiter| poll_once(waiter.as_mut()).is_pending())
    );
    let mut ninth = Box::pin(partition.enter());
    let Poll::Ready(Err(BulkheadError::Full(full))) = poll_once(ninth.as_mut()) else {
        panic!("the queue has 8 places")
    };
    assert_eq!(
        (full.in_flight(), full.max(), full.waiting(), full.queue()),
        (1, 1, 8, 8)
    );
    assert_eq!(
        full.to_string(),
        "`bounded` is full: 1 of 1 permits in flight, 8 of 8 queue places taken"
    );
    drop((held, waiters));
    assert_idle(partition);
}

#[test]
fn room_and_rejection_need_no_runtime() {
    let partition = plain("no-runtime", 1);
    let mut first = Box::pin(partition.enter());
    let Poll::Ready(Ok(permit)) = poll_once(first.as_mut()) else {
        panic!("there is room")
    };
    assert!(matches!(
        poll_once(Box::pin(partition.enter()).as_mut()),
        Poll::Ready(Err(BulkheadError::Full(_)))
    ));
    let mut call = Box::pin(partition.call(async { 1 }));
    assert!(matches!(
        poll_once(call.as_mut()),
        Poll::Ready(Err(BulkheadError::Full(_)))
    ));
    drop(permit);
    let mut call = Box::pin(partition.call(async { 1 }).timeout(ms(5)));
    assert!(
        matches!(poll_once(call.as_mut()), Poll::Ready(Ok(1))),
        "a body that is ready at once needs no timer"
    );
    assert_idle(partition);
}

#[test]
fn waiting_without_a_runtime_panics_and_loses_nothing() {
    let partition = queued("no-timer", 1, 1, ms(5));
    let held = partition.try_enter().unwrap();
    let mut waits = Box::pin(partition.enter());
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        poll_once(waits.as_mut()).is_pending()
    }));
    assert!(
        panic.is_err(),
        "tokio says that there is no reactor running"
    );
    drop(waits);
    drop(held);
    assert_eq!(partition.snapshot().abandoned, 1);

    let mut runs = Box::pin(partition.call(std::future::pending::<()>()).timeout(ms(5)));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        poll_once(runs.as_mut()).is_pending()
    }));
    assert!(panic.is_err());
    drop(runs);
    assert_eq!(
        partition.snapshot().outcomes.cancelled,
        1,
        "the body did not panic"
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_rejected_while_there_is_room_ten_thousand_times() {
    let partition = queued("twenty-at-once", 10, 10, ms(1_000));
    let policy = Policy::new(10).with_queue(10, ms(1_000));
    assert_eq!(*partition.policy(), policy);
    for _ in 0..10_000 {
        let mut calls: Vec<_> = (0..20)
            .map(|_| Box::pin(partition.call(yield_now())))
            .collect();
        for call in &mut calls {
            assert!(
                poll_once(call.as_mut()).is_pending(),
                "ten run and ten wait"
            );
        }
        let mut late = Box::pin(partition.call(yield_now()));
        assert!(
            matches!(
                poll_once(late.as_mut()),
                Poll::Ready(Err(BulkheadError::Full(_)))
            ),
            "the 21st"
        );
        for call in calls {
            call.await.expect("none of the twenty is rejected");
        }
    }
    assert_idle(partition);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_rejected_while_there_is_room_on_two_threads() {
    let partition = queued("twenty-on-two-threads", 10, 10, ms(60_000));
    for _ in 0..2_000 {
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            calls.spawn(partition.call(yield_now()));
        }
        for result in calls.join_all().await {
            result.expect("ten may run and ten may wait");
        }
    }
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_never_overtakes_a_waiter() {
    let partition = queued("overtaking", 1, 2, ms(1_000));
    let held = partition.try_enter().unwrap();
    let mut waiter = Box::pin(partition.enter());
    assert!(poll_once(waiter.as_mut()).is_pending());
    drop(held);
    // The permit is on its way to the waiter, which has not been polled yet.
    assert!(matches!(partition.try_enter(), Err(BulkheadError::Full(_))));
    let mut newcomer = Box::pin(partition.enter());
    assert!(
        poll_once(newcomer.as_mut()).is_pending(),
        "behind the waiter"
    );
    let Poll::Ready(Ok(permit)) = poll_once(waiter.as_mut()) else {
        panic!("its permit")
    };
    assert!(poll_once(newcomer.as_mut()).is_pending());
    drop(permit);
    assert!(matches!(poll_once(newcomer.as_mut()), Poll::Ready(Ok(_))));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_past_its_time_never_runs_even_when_the_permit_comes_in_the_same_instant() {
    let partition = queued("same-instant", 1, 1, ms(50));
    let held = partition.try_enter().unwrap();
    let mut call = Box::pin(partition.call(async { unreachable!("it runs late") }));
    assert!(poll_once(call.as_mut()).is_pending());
    advance(ms(50)).await;
    drop(held);
    let Poll::Ready(Err(BulkheadError::WaitTimeout(late))) = poll_once(call.as_mut()) else {
        panic!("its time was up")
    };
    assert_eq!(late.waited(), ms(50));
    assert_eq!(
        late.to_string(),
        "`same-instant` timed out after 50ms in the queue (`wait`): 1 of 1 permits in flight, 0 waiting"
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_came_in_time_but_is_claimed_late_is_rejected_and_passed_on() {
    let partition = queued("claimed-late", 1, 2, ms(50));
    let held = partition.try_enter().unwrap();
    let mut first = Box::pin(partition.enter());
    assert!(poll_once(first.as_mut()).is_pending());
    advance(ms(30)).await;
    let mut second = Box::pin(partition.enter());
    assert!(poll_once(second.as_mut()).is_pending());
    drop(held);
    assert_eq!(partition.snapshot().granted, 1);
    advance(ms(20)).await;
    assert!(matches!(
        poll_once(first.as_mut()),
        Poll::Ready(Err(BulkheadError::WaitTimeout(_)))
    ));
    assert!(matches!(poll_once(second.as_mut()), Poll::Ready(Ok(_))));
    assert_eq!(partition.snapshot().rejected.wait_timeout, 1);
}

#[tokio::test(start_paused = true)]
async fn a_granted_waiter_that_nobody_polls_loses_its_grant_when_its_wait_is_over() {
    let partition = queued("futurelock", 1, 1, ms(50));
    let held = partition.try_enter().unwrap();
    let mut forgotten = Box::pin(partition.enter());
    assert!(poll_once(forgotten.as_mut()).is_pending());
    drop(held);
    advance(ms(49)).await;
    assert!(
        partition.try_enter().is_err(),
        "it is the waiter's for as long as it may wait"
    );
    advance(ms(1)).await;
    let permit = partition
        .try_enter()
        .expect("taken back by the next that comes");
    assert_eq!(partition.snapshot().rejected.wait_timeout, 1);

    assert!(matches!(
        poll_once(forgotten.as_mut()),
        Poll::Ready(Err(BulkheadError::WaitTimeout(_)))
    ));
    drop(permit);
    let s = partition.snapshot();
    assert_eq!(
        (s.rejected.wait_timeout, s.abandoned),
        (1, 0),
        "and counted once"
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_release_takes_back_a_forgotten_grant_and_a_late_drop_counts_nothing_more() {
    let partition = queued("futurelock-release", 2, 4, ms(50));
    let (first, second) = (
        partition.try_enter().unwrap(),
        partition.try_enter().unwrap(),
    );
    let mut forgotten = Box::pin(partition.enter());
    assert!(poll_once(forgotten.as_mut()).is_pending());
    drop(first);
    advance(ms(40)).await;
    let mut waiting = [Box::pin(partition.enter()), Box::pin(partition.enter())];
    for waiter in &mut waiting {
        assert!(poll_once(waiter.as_mut()).is_pending());
    }
    advance(ms(10)).await;
    drop(second);
    assert_eq!(
        partition.snapshot().granted,
        2,
        "one has the released permit, the other the one taken back"
    );
    drop(forgotten);
    let s = partition.snapshot();
    assert_eq!((s.rejected.wait_timeout, s.abandoned, s.granted), (1, 0, 2));
    drop(waiting);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_times_out_frees_a_forgotten_grant_for_the_next() {
    let partition = queued("futurelock-timeout", 1, 3, ms(50));
    let held = partition.try_enter().unwrap();
    let mut forgotten = Box::pin(partition.enter());
    assert!(poll_once(forgotten.as_mut()).is_pending());
    drop(held);
    advance(ms(20)).await;
    let mut by = Box::pin(partition.enter_by(Instant::now() + ms(31)));
    let mut patient = Box::pin(partition.enter_by(Instant::now() + ms(500)));
    assert!(poll_once(by.as_mut()).is_pending() && poll_once(patient.as_mut()).is_pending());
    advance(ms(32)).await;
    assert!(matches!(
        poll_once(by.as_mut()),
        Poll::Ready(Err(BulkheadError::DeadlineExceeded(_)))
    ));
    assert!(
        matches!(poll_once(patient.as_mut()), Poll::Ready(Ok(_))),
        "nobody else had to come"
    );
    assert_eq!(partition.snapshot().rejected.wait_timeout, 1);
}

#[tokio::test(start_paused = true)]
async fn only_a_call_owns_a_permit_never_an_idle_future_or_a_handle() {
    let partition = plain("idle-handles", 1);
    let idle: Vec<_> = (0..10)
        .map(|_| (partition, partition.enter(), partition.call(async {})))
        .collect();
    for _ in 0..10 {
        partition
            .call(yield_now())
            .await
            .expect("what nobody polls holds nothing");
    }
    assert_eq!(partition.snapshot().started, 10);
    drop(idle);
}

#[tokio::test]
async fn the_permit_is_back_the_moment_the_body_ends_not_when_its_future_is_dropped() {
    let partition = plain("finished-future", 1);
    let mut finished = Box::pin(partition.call(async { 7 }));
    assert!(matches!(poll_once(finished.as_mut()), Poll::Ready(Ok(7))));
    assert_eq!(partition.snapshot().headroom, 1);
    partition
        .call(async {})
        .await
        .expect("the finished future still exists");
    drop(finished);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_moves_to_another_task_is_woken_there() {
    let partition = queued("moved", 1, 1, ms(1_000));
    let held = partition.try_enter().unwrap();
    let mut waiter = Box::pin(partition.enter());
    let ((before, first), (after, second)) = (Woken::new(), Woken::new());
    assert!(
        waiter
            .as_mut()
            .poll(&mut Context::from_waker(&first))
            .is_pending()
    );
    assert!(
        waiter
            .as_mut()
            .poll(&mut Context::from_waker(&second))
            .is_pending()
    );
    drop(first);
    assert_eq!(Arc::strong_count(&before), 1, "the old waker is not kept");
    drop(held);
    assert_eq!((before.times(), after.times()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn enter_by_waits_until_its_deadline_whatever_the_policy_says() {
    let partition = queued("worker", 1, 1, ms(10));
    let held = partition.try_enter().unwrap();
    let start = Instant::now();
    let late = partition.enter_by(start + ms(500)).await.unwrap_err();
    assert!(matches!(late, BulkheadError::DeadlineExceeded(_)), "{late}");
    assert_eq!(start.elapsed(), ms(500));
    drop(held);
    let past = partition.enter_by(start).await.unwrap_err();
    assert!(
        matches!(past, BulkheadError::DeadlineExceeded(_)),
        "the deadline had passed before: {past}"
    );
    assert_eq!(partition.snapshot().rejected.deadline, 2);
    let permit = partition
        .enter_by(Instant::now() + ms(1))
        .await
        .expect("there is room");
    drop(permit);
    let without_queue = plain("worker-without-queue", 1);
    let _held = without_queue.try_enter().unwrap();
    let full = without_queue
        .enter_by(Instant::now() + ms(500))
        .await
        .unwrap_err();
    assert!(matches!(full, BulkheadError::Full(_)), "{full}");
}

/// A waiter is told of by the one behind it when nobody polls it any more.
#[tokio::test(start_paused = true)]
async fn nobody_starves_behind_a_future_that_nobody_polls() {
    for (name, behind, release_at) in [
        ("starving-granted", 1, 0),
        ("starving-waiting", 40, 60),
        ("starving-waiting-late", 49, 51),
    ] {
        let partition = queued(name, 1, 2, ms(50));
        let held = partition.try_enter().unwrap();
        let start = Instant::now();
        let mut forgotten = Box::pin(partition.enter());
        assert!(poll_once(forgotten.as_mut()).is_pending());
        let mut held = Some(held);
        if release_at == 0 {
            drop(held.take());
        }
        advance(ms(behind)).await;
        let alive = tokio::spawn(partition.enter());
        if release_at > 0 {
            tokio::time::sleep_until(start + ms(release_at)).await;
            drop(held.take());
        }
        let permit = alive
            .await
            .unwrap()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            start.elapsed() <= ms(60),
            "{name}: after {:?}",
            start.elapsed()
        );
        drop(permit);
        drop(forgotten);
        assert_eq!(partition.snapshot().rejected.wait_timeout, 1, "{name}");
        assert_idle(partition);
    }
}

#[tokio::test(start_paused = true)]
async fn a_patient_worker_waits_no_longer_than_the_forgotten_call_before_it_may() {
    let partition = queued("starving-worker", 1, 2, ms(50));
    let held = partition.try_enter().unwrap();
    let start = Instant::now();
    let mut forgotten = Box::pin(partition.enter());
    assert!(poll_once(forgotten.as_mut()).is_pending());
    drop(held);
    let permit = partition.enter_by(start + ms(10_000)).await.unwrap();
    assert_eq!(start.elapsed(), ms(50));
    drop(permit);
}

#[tokio::test(start_paused = true)]
async fn nobody_starves_when_those_between_leave() {
    // (name, when the one between joins, its own deadline if it has one)
    for (name, joins, deadline) in [
        ("between-at-once", 10, None),
        ("between-patient", 10, Some(5_000)),
    ] {
        let partition = queued(name, 1, 3, ms(100));
        let held = partition.try_enter().unwrap();
        let start = Instant::now();
        let mut forgotten = Box::pin(partition.enter());
        assert!(poll_once(forgotten.as_mut()).is_pending());
        advance(ms(joins)).await;
        let deadline = start + deadline.map_or(ms(joins + 100), ms);
        let mut between = Box::pin(partition.enter_by(deadline));
        assert!(poll_once(between.as_mut()).is_pending());
        let alive = tokio::spawn(partition.enter());
        yield_now().await;
        drop(held);
        drop(between);
        let permit = alive
            .await
            .unwrap()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            start.elapsed(),
            ms(100),
            "{name}: when the forgotten one was out of time"
        );
        drop(permit);
        drop(forgotten);
        assert_idle(partition);
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_taken_back_a_place_watches_the_next_before_it() {
    let partition = queued("watches-on", 1, 3, ms(1_000));
    let held = partition.try_enter().unwrap();
    let start = Instant::now();
    let mut granted = Box::pin(partition.enter_by(start + ms(300)));
    let mut waiting = Box::pin(partition.enter_by(start + ms(100)));
    assert!(poll_once(granted.as_mut()).is_pending() && poll_once(waiting.as_mut()).is_pending());
    let alive = tokio::spawn(partition.enter());
    yield_now().await;
    drop(held);
    let permit = alive.await.unwrap().expect("nobody else is alive");
    assert_eq!(start.elapsed(), ms(300));
    drop((permit, granted, waiting));
    assert_idle(partition);
}
