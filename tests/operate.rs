//! Resize, close and reopen, while calls are on their way.

mod common;

use std::task::{Context, Poll};

use bulkhead_runtime::{BulkheadError, MAX_PERMITS, PolicyError, Reason};
use common::{Woken, assert_idle, ms, plain, poll_once, queued};

#[tokio::test(start_paused = true)]
async fn shrinking_returns_at_once_and_admission_resumes_below_the_new_number() {
    let partition = plain("shrink", 4);
    let mut held: Vec<_> = (0..4).map(|_| partition.try_enter().unwrap()).collect();
    partition.resize(2).unwrap();
    let s = partition.snapshot();
    assert_eq!(
        (s.max, s.in_flight, s.headroom),
        (2, 4, 0),
        "nobody is cut off: {s:?}"
    );
    for left in [3, 2] {
        held.pop();
        let error = partition.try_enter().unwrap_err();
        let BulkheadError::Full(full) = error else {
            panic!("{error}")
        };
        assert_eq!((full.in_flight(), full.max()), (left, 2));
    }
    held.pop();
    held.push(partition.try_enter().expect("one in flight, two permits"));
    partition.try_enter().unwrap_err();
    drop(held);
    assert_idle(partition);
    assert_eq!(
        partition.policy().max(),
        4,
        "the policy is what was declared"
    );
}

#[tokio::test(start_paused = true)]
async fn growing_wakes_those_that_wait() {
    let partition = queued("grow", 1, 3, ms(1_000));
    let held = partition.try_enter().unwrap();
    let (woken, waker) = Woken::new();
    let mut waiters = [(); 3].map(|()| Box::pin(partition.enter()));
    for waiter in &mut waiters {
        assert!(
            waiter
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    partition.resize(3).unwrap();
    assert_eq!(woken.times(), 2, "two more permits");
    let s = partition.snapshot();
    assert_eq!((s.granted, s.waiting), (2, 1));
    drop((held, waiters));
    assert_idle(partition);
}

#[test]
fn an_illegal_number_changes_nothing() {
    let partition = plain("illegal-resize", 2);
    assert_eq!(partition.resize(0), Err(PolicyError::MaxZero));
    assert_eq!(
        partition.resize(MAX_PERMITS + 1),
        Err(PolicyError::MaxTooLarge)
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn closing_turns_everybody_away_who_is_not_in_yet() {
    let partition = queued("close", 1, 2, ms(1_000));
    let held = partition.try_enter().unwrap();
    let (woken, waker) = Woken::new();
    let mut waiting = Box::pin(partition.call(async {}));
    let mut forgotten = Box::pin(partition.enter());
    assert!(
        waiting
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(poll_once(forgotten.as_mut()).is_pending());

    partition.close();
    partition.close();
    assert_eq!(woken.times(), 1, "it need not wait for its timer");
    let Poll::Ready(Err(error)) = poll_once(waiting.as_mut()) else {
        panic!("closed")
    };
    assert_eq!(
        (error.reason(), error.to_string().as_str()),
        (Reason::Closed, "`close` is closed")
    );
    assert!(!error.body_ran());
    drop(forgotten);
    let s = partition.snapshot();
    assert!(s.is_closed);
    assert_eq!(
        (s.rejected.closed, s.abandoned, s.waiting, s.in_flight),
        (2, 0, 0, 1),
        "counted once: {s:?}"
    );

    drop(held);
    assert!(
        matches!(partition.try_enter(), Err(BulkheadError::Closed(_))),
        "room or not"
    );
    assert!(matches!(
        partition.enter().await,
        Err(BulkheadError::Closed(_))
    ));
    partition.reopen();
    assert!(!partition.snapshot().is_closed);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_granted_its_permit_before_the_close_still_runs() {
    let partition = queued("granted-before-close", 1, 1, ms(1_000));
    let held = partition.try_enter().unwrap();
    let mut granted = Box::pin(partition.enter());
    assert!(poll_once(granted.as_mut()).is_pending());
    drop(held);
    partition.close();
    assert!(matches!(poll_once(granted.as_mut()), Poll::Ready(Ok(_))));
    partition.reopen();
}
