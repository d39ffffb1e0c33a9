//! Breakers that are calm and busy: most successes then look at no clock, and nothing else may come of that.

mod common;

use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bulkhead_runtime::{
    Breaker, BreakerState, BulkheadError, Deadline, Event, Partition, Reason, Verdict, bulkhead,
    partition, subscribe, test,
};
use common::{ON_PURPOSE, ms, panics_on_purpose_are_silent, poll_once};
use tokio::time::{Instant, advance};

/// Enough in one slice to have many that look at no clock.
const BUSY: u64 = 70_000;

#[partition(
    name = "calm", max = 100,
    breaker(failure_rate = 50%, slow = 100ms, window = 10s, min_calls = 20),
)]
static CALM: Partition;

#[bulkhead(CALM, deadline = 1s)]
async fn works() -> Result<(), BulkheadError> {
    Ok(())
}

#[bulkhead(CALM, deadline = 1s, classify = |_: &_| Verdict::Failure)]
async fn fails() -> Result<(), BulkheadError> {
    Ok(())
}

#[bulkhead(CALM, deadline = 1s)]
async fn panics() -> Result<(), BulkheadError> {
    panic!("{}", ON_PURPOSE.to_owned())
}

#[bulkhead(name = "calm-asks", max = 4, deadline = 50ms, breaker())]
async fn asks(another: bool) -> Result<(), BulkheadError> {
    if another { takes_long().await } else { Ok(()) }
}

#[partition(name = "calm-long", max = 4, measured(rate = 1, mean = 80ms), breaker())]
static LONG: Partition;

#[bulkhead(LONG, timeout = 1s)]
async fn takes_long() -> Result<(), BulkheadError> {
    Ok(())
}

async fn is_busy(calls: u64) {
    for _ in 0..calls {
        works().await.expect("there is room");
    }
}

/// Calls, failures and slow calls.
fn seen(partition: &Partition) -> (u64, u64, u64) {
    let seen = partition.breaker().expect("it has one").snapshot();
    (seen.calls, seen.failures, seen.slow)
}

fn is_open() -> bool {
    CALM.breaker().map(Breaker::state) == Some(BreakerState::Open)
}

#[tokio::test(start_paused = true)]
async fn none_of_them_is_lost_and_the_window_forgets_all_of_them() {
    let _isolated = test::isolate();
    is_busy(BUSY).await;
    assert_eq!(seen(&CALM), (BUSY, 0, 0));
    advance(Duration::from_secs(11)).await;
    assert_eq!(seen(&CALM), (0, 0, 0));
    for failed in 1..=20 {
        assert!(!is_open(), "{failed}");
        fails().await.expect("there is room");
    }
    assert!(is_open(), "all of twenty");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_looked_at_all_the_time_forgets_no_traffic() {
    let _isolated = test::isolate();
    is_busy(BUSY).await;
    for _ in 0..20 {
        advance(Duration::from_secs(1)).await;
        is_busy(50).await;
        let (calls, failures, slow) = seen(&CALM);
        assert!(calls >= 50, "{calls}");
        assert_eq!((failures, slow), (0, 0));
    }
    let (calls, ..) = seen(&CALM);
    assert!((450..=500).contains(&calls), "{calls} of ten seconds");
    for _ in 0..20 {
        fails().await.expect("there is room");
    }
    assert!(!is_open(), "twenty of 520");
}

#[tokio::test(start_paused = true)]
async fn a_burst_before_does_not_let_later_successes_be_forgotten() {
    let _isolated = test::isolate();
    is_busy(BUSY).await;
    for _ in 0..60 {
        advance(ms(180)).await;
        is_busy(1).await;
    }
    let (calls, ..) = seen(&CALM);
    assert!(calls >= 50, "{calls}");
    for _ in 0..20 {
        fails().await.expect("there is room");
    }
    assert!(!is_open(), "twenty of at least seventy");
}

#[tokio::test(start_paused = true)]
async fn permits_by_hand_are_slow_all_the_same() {
    let _isolated = test::isolate();
    is_busy(BUSY).await;
    let permits: Vec<_> = (0..50).map(|_| CALM.try_enter()).collect();
    let waited = CALM.enter().await;
    advance(ms(200)).await;
    drop((permits, waited));
    assert_eq!(seen(&CALM).2, 51);
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_held_against_the_mean_of_a_call_inside() {
    let _isolated = test::isolate();
    for _ in 0..BUSY {
        takes_long().await.expect("there is room");
        asks(false).await.expect("there is room");
    }
    let error = asks(true).await.expect_err("50 ms are less than 80");
    assert_eq!(
        (error.partition(), error.reason()),
        ("calm-long", Reason::DeadlineExceeded)
    );
    let breakers = partition("calm-asks").expect("it is declared").breakers();
    let failures = breakers.map(|breaker| breaker.snapshot().failures);
    assert_eq!(failures.sum::<u64>(), 0, "a rejection of our own");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_waits_is_bounded_from_there_and_left_as_soon_as_anybody() {
    #[bulkhead(CALM, deadline = 300ms, margin = 100ms)]
    async fn hangs() -> Result<(), BulkheadError> {
        let asked = Deadline::current().map(|deadline| deadline.remaining());
        assert_eq!(asked, Some(ms(200)));
        pending().await
    }
    let _isolated = test::isolate();
    is_busy(BUSY).await;
    let start = Instant::now();
    let error = hangs().await.expect_err("it hangs");
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!(start.elapsed(), ms(200));
    let (_, failures, slow) = seen(&CALM);
    assert_eq!((failures, slow), (1, 1));
    assert_eq!(Deadline::current(), None);
}

#[tokio::test(start_paused = true)]
async fn a_panic_counts_once_however_often_it_is_polled() {
    panics_on_purpose_are_silent();
    let _isolated = test::isolate();
    is_busy(BUSY).await;
    let mut call = Box::pin(panics());
    for _ in 0..3 {
        let polled = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()).is_ready()));
        polled.expect_err("it panics");
    }
    let s = CALM.snapshot();
    assert_eq!(
        (s.admitted, s.outcomes.panicked, s.in_flight),
        (BUSY + 1, 1, 0)
    );
    assert_eq!(seen(&CALM).1, 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_observer_does_is_no_part_of_the_call_that_it_is_told_of() {
    #[bulkhead(name = "calm-told", max = 1)]
    async fn fills() -> Result<(), BulkheadError> {
        Ok(())
    }
    #[bulkhead(name = "calm-outer", max = 2, timeout = 1s, breaker(), classify = |_: &_| Verdict::Failure)]
    async fn outer() -> Result<(), BulkheadError> {
        fills().await
    }
    let told = partition("calm-told").expect("it is declared");
    let subscription = subscribe(move |event: &Event<'_>| {
        if let Event::Saturated { partition, .. } = event
            && partition.name() == told.name()
        {
            assert!(told.try_enter().is_err(), "it is full");
        }
    });
    outer().await.expect("there is room");
    subscription.unsubscribe();
    assert_eq!(told.snapshot().rejected.full, 1, "the observer's own");
    let outer = partition("calm-outer").expect("it is declared");
    let breaker = outer.breakers().next().expect("of the function");
    assert_eq!(breaker.snapshot().failures, 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_beyond_the_end_of_the_clock_is_one_that_never_comes() {
    let far = Instant::now() + Duration::from_secs(86_400 * 365 * 200);
    let mut call = Box::pin(Deadline::at(far).scope(CALM.call(pending::<()>())));
    assert!(poll_once(call.as_mut()).is_pending());
    Deadline::at(far)
        .scope(CALM.call(ready(())))
        .await
        .expect("there is room");
}
