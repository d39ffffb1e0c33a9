//! Observe and off: who runs, and what is counted.

mod common;

use std::pin::pin;
use std::task::Poll;

use bulkhead_runtime::{BulkheadError, Mode, bulkhead, partition};
use common::{assert_idle, ms, plain, poll_once, queued};
use tokio::time::Instant;

#[test]
fn observing_runs_everything_and_counts_what_it_would_have_rejected() {
    let partition = plain("observe", 2);
    partition.mode(Mode::Observe);
    let held: Vec<_> = (0..5)
        .map(|_| partition.try_enter().expect("everything runs"))
        .collect();
    let s = partition.snapshot();
    assert_eq!(
        (s.mode, s.max, s.in_flight, s.headroom),
        (Mode::Observe, 2, 5, 0)
    );
    assert_eq!((s.would_reject, s.rejected.total()), (3, 0));
    drop(held);
    let s = partition.snapshot();
    assert_eq!(
        (s.in_flight, s.outcomes.success, s.highest_in_flight),
        (0, 5, 5)
    );
    partition.mode(Mode::Enforce);
    assert_idle(partition);
    assert_eq!(
        partition.snapshot().would_reject,
        3,
        "what was counted stays"
    );
}

#[tokio::test(start_paused = true)]
async fn what_would_have_waited_is_not_what_would_have_been_rejected() {
    let partition = queued("observe-queue", 2, 3, ms(50));
    partition.mode(Mode::Observe);
    let mut held = Vec::new();
    for at in 0..7 {
        let mut enter = pin!(partition.enter());
        let Poll::Ready(Ok(permit)) = poll_once(enter.as_mut()) else {
            panic!("nobody waits where everything runs: {at}")
        };
        held.push(permit);
    }
    let s = partition.snapshot();
    assert_eq!((s.in_flight, s.waiting), (7, 0), "{s:?}");
    assert_eq!((s.would_wait, s.would_reject), (3, 2), "{s:?}");
    drop(held);
    partition.mode(Mode::Enforce);
    assert_idle(partition);
}

#[test]
fn a_call_that_never_waits_would_have_been_rejected_where_others_wait() {
    let partition = queued("observe-try", 1, 3, ms(50));
    partition.mode(Mode::Observe);
    let held: Vec<_> = (0..4)
        .map(|_| partition.try_enter().expect("everything runs"))
        .collect();
    assert_eq!(partition.snapshot().would_reject, 3, "there is one permit");
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_observed_is_counted_once() {
    let partition = plain("observe-once", 1);
    partition.mode(Mode::Observe);
    let held = partition.enter().await.expect("everything runs");
    // Neither in time nor is there room: one rejection, had it been one.
    drop(
        partition
            .enter_by(Instant::now())
            .await
            .expect("everything runs"),
    );
    assert_eq!(partition.snapshot().would_reject, 1);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn who_waits_after_a_shrink_is_let_in_by_observing() {
    let partition = queued("observe-shrunk", 10, 5, ms(60));
    let held: Vec<_> = (0..10)
        .map(|_| partition.try_enter().expect("free"))
        .collect();
    partition.resize(2).expect("fewer");
    let mut waits = Box::pin(partition.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    partition.mode(Mode::Observe);
    assert!(poll_once(waits.as_mut()).is_ready(), "nobody overtakes it");
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_are_let_in_when_nobody_is_rejected_any_more() {
    for mode in [Mode::Observe, Mode::Off] {
        let partition = queued(&format!("let-in-{mode}"), 1, 3, ms(1_000));
        let held = partition.try_enter().expect("it is free");
        let mut waiters = [(); 3].map(|()| Box::pin(partition.enter()));
        for waiter in &mut waiters {
            assert!(poll_once(waiter.as_mut()).is_pending());
        }
        partition.mode(mode);
        let permits = waiters.map(|mut waiter| match poll_once(waiter.as_mut()) {
            Poll::Ready(Ok(permit)) => permit,
            other => panic!("{mode}: {other:?}"),
        });
        assert_eq!(partition.snapshot().in_flight, 4, "{mode}");
        // Back again: nobody is admitted before it fits.
        partition.mode(Mode::Enforce);
        drop(permits);
        let mut waits = Box::pin(partition.enter());
        assert!(
            poll_once(waits.as_mut()).is_pending(),
            "{mode}: one is in flight"
        );
        drop(held);
        assert!(poll_once(waits.as_mut()).is_ready(), "{mode}");
        drop(waits);
        assert_idle(partition);
    }
}

#[test]
fn off_counts_nothing_but_what_is_in_flight() {
    let partition = plain("off", 1);
    drop(partition.try_enter().expect("it is free"));
    partition.mode(Mode::Off);
    let held: Vec<_> = (0..10)
        .map(|_| partition.try_enter().expect("everything runs"))
        .collect();
    let s = partition.snapshot();
    assert_eq!((s.in_flight, s.would_reject), (10, 0));
    drop(held);
    let s = partition.snapshot();
    assert_eq!(
        (
            s.started,
            s.admitted,
            s.outcomes.total(),
            s.rejected.total()
        ),
        (1, 1, 1, 0),
        "only the call before: {s:?}"
    );
    partition.mode(Mode::Enforce);
    assert_idle(partition);
}

#[test]
fn a_closed_partition_rejects_in_every_mode() {
    let partition = plain("closed-mode", 1);
    partition.close();
    for mode in [Mode::Observe, Mode::Off, Mode::Enforce] {
        partition.mode(mode);
        assert!(
            matches!(partition.try_enter(), Err(BulkheadError::Closed(_))),
            "{mode}"
        );
    }
    partition.reopen();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_is_let_in_where_everything_is() {
    let partition = plain("mode-deadline", 1);
    let late = Instant::now();
    tokio::time::advance(ms(1)).await;
    partition.mode(Mode::Observe);
    drop(partition.enter_by(late).await.expect("everything runs"));
    assert_eq!(partition.snapshot().would_reject, 1);
    partition.mode(Mode::Off);
    drop(partition.enter_by(late).await.expect("everything runs"));
    partition.mode(Mode::Enforce);
    partition.enter_by(late).await.expect_err("it has passed");
    assert_eq!(partition.snapshot().rejected.deadline, 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_holds_in_every_mode() {
    #[bulkhead(name = "mode-timeout", max = 1, timeout = 10ms)]
    async fn hangs() -> Result<(), BulkheadError> {
        std::future::pending().await
    }
    let partition = partition("mode-timeout").expect("it is declared above");
    for mode in [Mode::Enforce, Mode::Observe, Mode::Off] {
        partition.mode(mode);
        let error = hangs().await.expect_err("it hangs");
        assert!(matches!(error, BulkheadError::CallTimeout(_)), "{mode}");
    }
    assert_eq!(
        partition.snapshot().outcomes.timed_out,
        2,
        "off counts nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rejection_tells_the_numbers_that_hold() {
    let partition = queued("mode-numbers", 1, 1, ms(50));
    partition.mode(Mode::Observe);
    partition.mode(Mode::Enforce);
    let _held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    assert_eq!(
        partition.try_enter().expect_err("it is full").to_string(),
        "`mode-numbers` is full: 1 of 1 permits in flight, 1 of 1 queue places taken"
    );
}

#[tokio::test(start_paused = true)]
async fn the_highest_numbers_since_the_last_look_are_kept() {
    let partition = queued("highest", 3, 4, ms(1_000));
    let held: Vec<_> = (0..3)
        .map(|_| partition.try_enter().expect("free"))
        .collect();
    let mut waiters = [(); 2].map(|()| Box::pin(partition.enter()));
    for waiter in &mut waiters {
        assert!(poll_once(waiter.as_mut()).is_pending());
    }
    drop((waiters, held));
    let s = partition.snapshot();
    assert_eq!((s.in_flight, s.waiting), (0, 0), "the peak is over");
    assert_eq!((s.highest_in_flight, s.highest_waiting), (3, 2));
    assert_eq!(
        partition.snapshot().highest_in_flight,
        3,
        "a look changes nothing"
    );
    assert_eq!(
        partition.take_snapshot().highest_in_flight,
        3,
        "told once more"
    );

    let held = partition.try_enter().expect("it is free");
    let s = partition.take_snapshot();
    assert_eq!(
        (s.highest_in_flight, s.highest_waiting),
        (1, 0),
        "since then"
    );
    let s = partition.snapshot();
    assert_eq!(
        s.highest_in_flight, 1,
        "what goes on counts for the next look"
    );
    drop(held);
    assert_idle(partition);
}
