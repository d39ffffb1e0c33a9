//! Breakers in the modes that reject nobody, and what a panic that opens one does to those that wait.

mod common;

use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{
    Breaker, BreakerPolicy, BreakerState, Mode, Partition, Policy, Snapshot, Verdict, register,
};
use common::{ON_PURPOSE, ms, panics_on_purpose_are_silent, poll_once};

const TOUCHY: BreakerPolicy = BreakerPolicy::new()
    .with_consecutive(1)
    .with_open_for(Duration::from_millis(100));

/// A partition of one permit and two places.
fn under(name: &str) -> &'static Partition {
    let policy = Policy::new(1).with_queue(2, ms(50)).with_breaker(TOUCHY);
    register(name, policy).expect("each test has a name of its own")
}

fn breaker(partition: &Partition) -> &'static Breaker {
    partition.breaker().expect("it has one")
}

#[tokio::test(start_paused = true)]
async fn a_panic_that_opens_it_grants_nobody_its_permit() {
    panics_on_purpose_are_silent();
    let partition = under("contract-modes-panic");
    let mut polled_before = false;
    let mut runs = Box::pin(partition.call(poll_fn(move |_| {
        assert!(
            !std::mem::replace(&mut polled_before, true),
            "{}",
            ON_PURPOSE.to_owned()
        );
        Poll::<()>::Pending
    })));
    assert!(poll_once(runs.as_mut()).is_pending());
    let mut waits = Box::pin(partition.call(ready(())));
    assert!(poll_once(waits.as_mut()).is_pending());
    let unwound = catch_unwind(AssertUnwindSafe(|| poll_once(runs.as_mut())));
    unwound.expect_err("it panics");
    assert_eq!(breaker(partition).state(), BreakerState::Open);
    let s = partition.snapshot();
    assert_eq!(
        (s.granted, s.waiting, s.rejected.breaker_open),
        (0, 0, 1),
        "{s:?}"
    );
}

/// A call that is granted a permit before its breaker opens, and the mode changes: whether it ran.
async fn granted(name: &str, mode: Mode) -> (bool, Snapshot) {
    let partition = under(name);
    let held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.call(ready(())));
    assert!(poll_once(waits.as_mut()).is_pending(), "it waits");
    drop(held);
    breaker(partition).force_open();
    partition.mode(mode);
    let ran = waits.await.is_ok();
    (ran, partition.snapshot())
}

#[tokio::test(start_paused = true)]
async fn observed_a_granted_call_runs_although_the_breaker_has_opened() {
    let (ran, s) = granted("contract-modes-observe", Mode::Observe).await;
    assert_eq!((ran, s.rejected.breaker_open, s.would_reject), (true, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn switched_off_a_granted_call_runs_although_the_breaker_has_opened() {
    let (ran, s) = granted("contract-modes-off", Mode::Off).await;
    assert_eq!((ran, s.rejected.breaker_open, s.would_reject), (true, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn observed_under_a_breaker_a_call_that_would_wait_is_counted_as_that() {
    let partition = under("contract-modes-would-wait");
    partition.mode(Mode::Observe);
    let _held = partition.try_enter().expect("it is free");
    let mut second = pin!(partition.call(pending::<()>()));
    assert!(poll_once(second.as_mut()).is_pending());
    let s = partition.snapshot();
    assert_eq!((s.would_wait, s.would_reject), (1, 0), "{s:?}");
}

#[tokio::test(start_paused = true)]
async fn switched_off_it_tells_the_breaker_nothing_of_a_call_that_was_granted_before() {
    let partition = under("contract-modes-off-tells");
    let held = partition.try_enter().expect("it is free");
    let call = partition.call(ready(()));
    let mut waits = Box::pin(call.classify(|()| Verdict::Failure));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    partition.mode(Mode::Off);
    waits.await.expect("it is let in");
    assert_eq!(breaker(partition).state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn switched_off_a_call_that_fits_takes_no_lock_and_takes_nothing_back() {
    let partition = under("contract-modes-off-look");
    let held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.call(ready(())));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    partition.mode(Mode::Off);
    tokio::time::advance(ms(60)).await;
    let mut second = Box::pin(partition.call(pending::<()>()));
    assert!(poll_once(second.as_mut()).is_pending());
    assert_eq!(partition.snapshot().granted, 1);
}
