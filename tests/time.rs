//! Two clocks, one for the queue and one for the body, and an error that names its clock.

mod common;

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, Reason, Verdict, bulkhead, partition};
use common::{assert_idle, ms, plain, poll_once, queued};
use tokio::task::coop;
use tokio::time::{Instant, advance, sleep};

#[bulkhead(name = "two-clocks", max = 1, queue = 4, wait = 50ms, timeout = 200ms)]
async fn takes(time: Duration) -> Result<(), BulkheadError> {
    sleep(time).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_timeout_does_not_count_the_time_in_the_queue() {
    let two_clocks = partition("two-clocks").unwrap();
    let start = Instant::now();
    let holder = two_clocks.try_enter().unwrap();
    let queued = tokio::spawn(takes(ms(190)));
    sleep(ms(40)).await;
    holder.finish(Verdict::Failure);
    queued
        .await
        .unwrap()
        .expect("40 ms in the queue and 190 in the body are within both");
    assert_eq!(start.elapsed(), ms(230));
    let mean = ms(40) * 7 / 8 + ms(190) / 8;
    assert_eq!(
        two_clocks.snapshot().mean_call,
        mean,
        "call time does not include the wait"
    );

    let holder = two_clocks.try_enter().unwrap();
    let start = Instant::now();
    let late = takes(ms(1)).await.unwrap_err();
    assert_eq!(
        start.elapsed(),
        ms(50),
        "and not 60, when the permit would have come"
    );
    assert_eq!(late.reason(), Reason::WaitTimeout);
    assert!(!late.body_ran(), "a wait timeout had no effect");
    drop(holder);

    let holder = two_clocks.try_enter().unwrap();
    let queued = tokio::spawn(takes(ms(1_000)));
    sleep(ms(40)).await;
    drop(holder);
    let error = queued.await.unwrap().unwrap_err();
    let BulkheadError::CallTimeout(timeout) = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (timeout.waited(), timeout.ran(), timeout.timeout()),
        (ms(40), ms(200), ms(200))
    );
    assert_eq!(
        error.to_string(),
        "`two-clocks` timed out after 200ms in the body (`timeout` = 200ms); it had waited 40ms in the queue"
    );
    assert!(error.body_ran());
    assert_eq!(error.retry_after(), None);
    assert_eq!(error.function(), Some("time::takes"));
    assert_idle(two_clocks);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_nearer_than_the_wait_wins_and_says_so() {
    let partition = queued("nearer-deadline", 1, 1, ms(1_000));
    let _held = partition.try_enter().unwrap();
    let start = Instant::now();
    let error = partition.enter_by(start + ms(20)).await.unwrap_err();
    assert_eq!(start.elapsed(), ms(20));
    assert_eq!(
        error.to_string(),
        "`nearer-deadline` was not entered by its deadline, after 20ms in the queue: 1 of 1 permits in flight, 0 waiting"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_uses_up_tokios_budget_in_every_poll_still_times_out() {
    let partition = plain("greedy", 1);
    let greedy = partition.call(async {
        loop {
            while coop::has_budget_remaining() {
                coop::consume_budget().await;
            }
            tokio::task::yield_now().await;
        }
    });
    let ticking = async {
        for _ in 0..50 {
            advance(ms(1)).await;
        }
    };
    let (result, ()): (Result<(), _>, _) = tokio::join!(greedy.timeout(ms(10)), ticking);
    assert!(matches!(result, Err(BulkheadError::CallTimeout(_))));
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_arms_no_timer() {
    let partition = plain("no-timer-armed", 1);
    let _held = partition.try_enter().unwrap();
    let start = Instant::now();
    for _ in 0..100 {
        partition.enter().await.unwrap_err();
        partition.call(async {}).timeout(ms(5)).await.unwrap_err();
    }
    assert_eq!(
        start.elapsed(),
        Duration::ZERO,
        "the paused clock moves only when a timer is waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero_gives_one_poll_and_one_of_ages_never_ends() {
    let partition = plain("odd-timeouts", 1);
    assert_eq!(
        partition
            .call(async { 1 })
            .timeout(Duration::ZERO)
            .await
            .unwrap(),
        1
    );
    let pending = partition
        .call(std::future::pending::<()>())
        .timeout(Duration::ZERO)
        .await;
    assert!(matches!(pending, Err(BulkheadError::CallTimeout(_))));
    let mut ages = pin!(
        partition
            .call(std::future::pending::<()>())
            .timeout(Duration::MAX)
    );
    assert!(poll_once(ages.as_mut()).is_pending());
    advance(Duration::from_secs(86_400)).await;
    assert!(matches!(poll_once(ages.as_mut()), Poll::Pending));
}

#[tokio::test(start_paused = true)]
async fn the_mean_follows_an_outage_in_which_no_call_succeeds() {
    let partition = plain("mean-in-an-outage", 1);
    partition.call(sleep(ms(80))).await.unwrap();
    assert_eq!(
        partition.snapshot().mean_call,
        ms(80),
        "the first call is timed"
    );
    for _ in 0..40 {
        partition
            .call(sleep(ms(10_000)))
            .timeout(ms(2_000))
            .await
            .unwrap_err();
    }
    let mean = partition.snapshot().mean_call;
    assert!((ms(1_900)..=ms(2_000)).contains(&mean), "{mean:?}");
    for _ in 0..64 * 40 {
        partition.call(sleep(ms(80))).await.unwrap();
    }
    let mean = partition.snapshot().mean_call;
    assert!(
        (ms(80)..ms(100)).contains(&mean),
        "one in 64 is enough when they succeed again: {mean:?}"
    );
}
