//! Functions that try again: when, how often, at whose expense, and what their callers see.

mod common;

use std::cell::RefCell;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bulkhead_runtime::{
    BreakerState, BulkheadError, Deadline, Event, Partition, Reason, Retries, bulkhead, partition,
    subscribe,
};
use common::attempts::{Failed, Ran, assert_nobody_is_left, assert_rests, is_transient};
use common::watched::{find, of, window};
use common::{ON_PURPOSE, ms, panics_on_purpose_are_silent, poll_once};
use tokio::time::{Instant, sleep, timeout};

// ---- what is retried, and how often

static UNTIL_IT_WORKS: Ran = Ran::new();

#[bulkhead(
    name = "retry-works", max = 1,
    retry(idempotent, attempts = 4, backoff = 40ms, cap = 100ms, when = is_transient),
)]
async fn works_at_the_third(name: String) -> Result<String, Failed> {
    match UNTIL_IT_WORKS.one() {
        3 => Ok(name),
        ran => Err(Failed::Transient(ran)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_tried_again_until_it_works() {
    let start = Instant::now();
    let answer = works_at_the_third("a".to_owned()).await;
    assert_eq!(answer.expect("the third attempt works"), "a");
    assert_eq!(UNTIL_IT_WORKS.times(), 3, "and there is no fourth");
    let longest = ms(40) + ms(80);
    assert!(start.elapsed() <= longest + ms(2), "{:?}", start.elapsed());

    let works = find("retry-works");
    let s = works.snapshot();
    assert_eq!(
        (s.started, s.admitted),
        (3, 3),
        "attempts are counted, not calls"
    );
    assert_eq!((s.outcomes.failure, s.outcomes.success), (2, 1));
    assert_eq!((s.retries.made, s.retries.given_up), (2, 0));
    assert!((s.attempts_per_call() - 3.0).abs() < 1e-9, "{s:?}");
    assert_rests(works);
}

static NEVER_WORKS: Ran = Ran::new();

#[bulkhead(
    name = "retry-never-works", max = 1,
    retry(idempotent, attempts = 3, backoff = 10ms, when = is_transient),
)]
async fn never_works() -> Result<(), Failed> {
    Err(Failed::Transient(NEVER_WORKS.one()))
}

#[tokio::test(start_paused = true)]
async fn after_the_last_attempt_the_caller_sees_its_error() {
    let error = never_works().await.expect_err("it never works");
    assert!(matches!(error, Failed::Transient(3)), "{error:?}");
    assert_eq!(NEVER_WORKS.times(), 3);
    assert_eq!(find("retry-never-works").snapshot().admitted, 3);
    assert_rests(find("retry-never-works"));
}

static NOT_WORTH_IT: Ran = Ran::new();

#[bulkhead(
    name = "retry-lasting", max = 1,
    retry(idempotent, attempts = 3, backoff = 10ms, when = is_transient),
)]
async fn lasting() -> Result<(), Failed> {
    NOT_WORTH_IT.one();
    Err(Failed::Lasting)
}

#[tokio::test(start_paused = true)]
async fn only_what_is_called_transient_is_tried_again() {
    let start = Instant::now();
    let error = lasting().await.expect_err("it fails");
    assert!(matches!(error, Failed::Lasting), "{error:?}");
    assert_eq!((NOT_WORTH_IT.times(), start.elapsed()), (1, Duration::ZERO));
    assert_rests(find("retry-lasting"));
}

static OWN_REJECTION: Ran = Ran::new();

#[bulkhead(
    name = "retry-rejected", max = 1,
    retry(idempotent, attempts = 3, backoff = 10ms, when = is_transient),
)]
async fn rejected() -> Result<(), Failed> {
    OWN_REJECTION.one();
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_never_tried_again_whatever_it_is_called() {
    let rejecting = find("retry-rejected");
    let held = rejecting.try_enter().expect("it is free");
    let start = Instant::now();
    let error = rejected().await.expect_err("it is full");
    assert!(
        matches!(error, Failed::Ours(BulkheadError::Full(_))),
        "{error:?}"
    );
    rejecting.close();
    drop(held);
    let error = rejected().await.expect_err("it is closed");
    assert!(
        matches!(error, Failed::Ours(BulkheadError::Closed(_))),
        "{error:?}"
    );
    rejecting.reopen();
    assert_eq!(
        (OWN_REJECTION.times(), start.elapsed()),
        (0, Duration::ZERO)
    );
    let s = rejecting.snapshot();
    assert_eq!(
        (s.rejected.full, s.rejected.closed, s.retries),
        (1, 1, Retries::default())
    );
    assert_rests(rejecting);
}

static SLOW: Ran = Ran::new();

#[bulkhead(
    name = "retry-timeout", max = 1, timeout = 50ms,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn slow_at_first() -> Result<u32, Failed> {
    match SLOW.one() {
        3 => Ok(3),
        _ => pending().await,
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_timeout_and_may_be_tried_again_after_it() {
    let start = Instant::now();
    assert_eq!(slow_at_first().await.expect("the third is quick"), 3);
    assert!(start.elapsed() >= ms(100) && start.elapsed() < ms(110));
    let s = find("retry-timeout").snapshot();
    assert_eq!((s.outcomes.timed_out, s.outcomes.success), (2, 1));
    assert_rests(find("retry-timeout"));
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "so it is asked, whatever the type"
)]
fn is_busy(answer: &u16) -> bool {
    *answer == 503
}

fn to_status(_: BulkheadError) -> u16 {
    500
}

static STATUS: Ran = Ran::new();

#[bulkhead(
    name = "retry-status", max = 1, reject = to_status, classify = |status: &u16| {
        if *status < 500 { bulkhead_runtime::Verdict::Success } else { bulkhead_runtime::Verdict::Ignored }
    },
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_busy),
)]
async fn status() -> u16 {
    if STATUS.one() == 2 { 200 } else { 503 }
}

#[tokio::test(start_paused = true)]
async fn a_return_type_that_is_no_result_is_looked_at_as_a_whole() {
    assert_eq!(status().await, 200);
    assert_eq!(STATUS.times(), 2);
    assert_rests(find("retry-status"));
}

static PANICS: Ran = Ran::new();

#[bulkhead(
    name = "retry-panics", max = 1,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn panics_at_the_second() -> Result<(), Failed> {
    let ran = PANICS.one();
    assert!(ran < 2, "{}", ON_PURPOSE);
    Err(Failed::Transient(ran))
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_later_attempt_goes_to_the_caller_and_nothing_is_lost() {
    panics_on_purpose_are_silent();
    let joined = tokio::spawn(panics_at_the_second()).await;
    assert!(joined.expect_err("it panics").is_panic());
    assert_eq!(PANICS.times(), 2);
    assert_eq!(find("retry-panics").snapshot().outcomes.panicked, 1);
    assert_rests(find("retry-panics"));
}

// ---- permits and backoff

#[bulkhead(
    name = "retry-backoff", max = 1, queue = 4, wait = 1s,
    retry(idempotent, attempts = 2, backoff = 20s, cap = 20s, when = is_transient),
)]
async fn backs_off(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

/// A call that is in its backoff, which is drawn anew until it lasts for a second or more.
async fn in_backoff(ran: &'static Ran) -> tokio::task::JoinHandle<Result<(), Failed>> {
    loop {
        let call = tokio::spawn(backs_off(ran));
        sleep(ms(1_000)).await;
        if !call.is_finished() {
            return call;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_permit_is_held_through_backoff() {
    static RAN: Ran = Ran::new();
    let backoff = find("retry-backoff");
    let call = in_backoff(&RAN).await;
    let s = backoff.snapshot();
    assert_eq!((s.backing_off, s.in_flight, s.headroom), (1, 0, 1));
    let other = backoff.try_enter().expect("the permit is free meanwhile");

    let before = backoff.snapshot();
    let error = call
        .await
        .expect("it does not panic")
        .expect_err("it fails");
    assert!(
        matches!(error, Failed::Transient(_)),
        "the caller sees the failure, and not that there was no room to retry: {error:?}"
    );
    let s = backoff.snapshot();
    assert_eq!(
        (s.rejected.full, s.waiting, s.retries.rejected),
        (before.rejected.full + 1, 0, before.retries.rejected + 1),
        "a retry takes a permit that is free now, and never waits for one"
    );
    drop(other);
    assert_rests(backoff);
}

#[partition(name = "retry-cap", max = 1, retry_budget(min = 1000))]
static CAP: Partition;

#[bulkhead(CAP, retry(idempotent, attempts = 6, backoff = 10ms, cap = 20ms, when = is_transient))]
async fn up_to_the_cap(began: &RefCell<Vec<Instant>>) -> Result<(), Failed> {
    began.borrow_mut().push(Instant::now());
    Err(Failed::Transient(0))
}

#[tokio::test(start_paused = true)]
async fn no_backoff_is_longer_than_the_cap_and_some_are_longer_than_the_first() {
    let mut longest = Duration::ZERO;
    for _ in 0..40 {
        let began = RefCell::new(Vec::new());
        up_to_the_cap(&began).await.expect_err("it never works");
        let began = began.into_inner();
        assert_eq!(began.len(), 6);
        for pair in began.windows(2) {
            longest = longest.max(pair[1] - pair[0]);
        }
    }
    // The timer ends in whole milliseconds.
    assert!(longest <= ms(20) + ms(1), "{longest:?}");
    assert!(longest > ms(10) + ms(1), "{longest:?}");
    assert_rests(&CAP);
}

#[bulkhead(
    name = "retry-left", max = 1,
    retry(idempotent, attempts = 2, backoff = 20s, cap = 20s, when = is_transient),
)]
async fn is_left(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_during_the_backoff_leaves_nothing_behind() {
    let left = find("retry-left");
    let ran = Ran::new();
    let mut call = Box::pin(is_left(&ran));
    assert!(poll_once(call.as_mut()).is_pending(), "it backs off");
    assert_eq!(left.snapshot().backing_off, 1);
    drop(call);
    let s = left.snapshot();
    assert_eq!(
        (s.backing_off, s.retries.given_up, s.retries.made),
        (0, 1, 0)
    );
    assert_eq!((ran.times(), s.outcomes.cancelled), (1, 0));
    assert_rests(left);
}

#[bulkhead(
    name = "retry-closed", max = 1,
    retry(idempotent, attempts = 3, backoff = 20s, cap = 20s, when = is_transient),
)]
async fn is_closed(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn closing_ends_a_backoff_at_once_with_the_error_that_was_there() {
    static RAN: Ran = Ran::new();
    let closed = find("retry-closed");
    let call = tokio::spawn(is_closed(&RAN));
    tokio::task::yield_now().await;
    assert_eq!(closed.snapshot().backing_off, 1);
    let start = Instant::now();
    closed.close();
    let error = call
        .await
        .expect("it does not panic")
        .expect_err("it failed");
    assert!(matches!(error, Failed::Transient(1)), "{error:?}");
    assert_eq!((RAN.times(), start.elapsed()), (1, Duration::ZERO));
    let s = closed.snapshot();
    assert_eq!((s.retries.given_up, s.rejected.closed), (1, 0));
    closed.reopen();
    assert_rests(closed);
}

static CLOSES_ITSELF: Ran = Ran::new();

#[bulkhead(
    name = "retry-closed-inside", max = 1,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn closes() -> Result<(), Failed> {
    find("retry-closed-inside").close();
    Err(Failed::Transient(CLOSES_ITSELF.one()))
}

#[tokio::test(start_paused = true)]
async fn what_fails_on_a_closed_partition_is_not_tried_again() {
    let error = closes().await.expect_err("it fails");
    assert!(matches!(error, Failed::Transient(1)), "{error:?}");
    let closed = find("retry-closed-inside");
    assert_eq!(closed.snapshot().retries, Retries::default());
    closed.reopen();
    assert_rests(closed);
}

// ---- the deadline

#[bulkhead(
    name = "retry-deadline", max = 1,
    retry(idempotent, attempts = 10, backoff = 1h, cap = 1h, when = is_transient),
)]
async fn under_a_deadline(ran: &Ran) -> Result<(), Failed> {
    sleep(ms(1)).await;
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn the_deadline_cuts_the_backoff_short() {
    let ran = Ran::new();
    let start = Instant::now();
    let call = Deadline::after(ms(200)).scope(under_a_deadline(&ran));
    let error = call.await.expect_err("it never works");
    assert!(
        start.elapsed() <= ms(200),
        "it slept past its deadline: {:?}",
        start.elapsed()
    );
    match error {
        Failed::Transient(last) => assert_eq!(last, ran.times()),
        Failed::Ours(error) => assert_eq!(error.reason(), Reason::DeadlineExceeded),
        Failed::Lasting => panic!("the body says no such thing"),
    }
    let s = find("retry-deadline").snapshot();
    assert!(
        s.retries.made + s.retries.rejected > 0,
        "a backoff up to an hour was cut to 199 ms: {s:?}"
    );
    assert_eq!(s.admitted, u64::from(ran.times()));
    assert_rests(find("retry-deadline"));
}

#[bulkhead(
    name = "retry-no-time", max = 1,
    retry(idempotent, attempts = 10, backoff = 1h, cap = 1h, when = is_transient),
)]
async fn until_the_deadline(ran: &Ran, time: Duration) -> Result<(), Failed> {
    sleep(time).await;
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn without_time_for_another_attempt_the_error_is_passed_on_at_once() {
    let ran = Ran::new();
    let start = Instant::now();
    let call = until_the_deadline(&ran, ms(50));
    let call = Deadline::after(ms(50) + Duration::from_micros(500)).scope(call);
    let error = call.await.expect_err("it fails");
    assert!(matches!(error, Failed::Transient(1)), "{error:?}");
    assert_eq!(start.elapsed(), ms(50), "it does not wait for its deadline");
    assert_eq!(find("retry-no-time").snapshot().retries.out_of_time, 1);

    let call = Deadline::after(ms(50)).scope(until_the_deadline(&ran, ms(500)));
    let error = call.await.expect_err("the deadline stops it");
    let error = error.ours();
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!(
        ran.times(),
        1,
        "what the deadline has stopped is not tried again"
    );
    let s = find("retry-no-time").snapshot();
    assert_eq!(s.retries.out_of_time, 1, "nor is it thought of");
    assert_rests(find("retry-no-time"));
}

#[bulkhead(
    name = "retry-whole-deadline", max = 1, deadline = 300ms,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn by_its_own_deadline(ran: &Ran) -> Result<Duration, Failed> {
    let left = Deadline::current().expect("it has one").remaining();
    match ran.one() {
        1 | 2 => {
            sleep(ms(100)).await;
            Err(Failed::Transient(0))
        }
        _ => Ok(left),
    }
}

#[tokio::test(start_paused = true)]
async fn one_deadline_holds_for_all_attempts_together() {
    let ran = Ran::new();
    let left = by_its_own_deadline(&ran)
        .await
        .expect("it has time for a third");
    assert!(
        left <= ms(100),
        "the third attempt has {left:?}, as if it began anew"
    );
    assert_rests(find("retry-whole-deadline"));
}

// ---- one owner

static INNERMOST: Ran = Ran::new();

#[bulkhead(
    name = "retry-layer-3", max = 4,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn innermost() -> Result<(), Failed> {
    Err(Failed::Transient(INNERMOST.one()))
}

#[bulkhead(
    name = "retry-layer-2", max = 4,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn in_between() -> Result<(), Failed> {
    innermost().await
}

#[bulkhead(
    name = "retry-layer-1", max = 4,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn outermost() -> Result<(), Failed> {
    in_between().await
}

#[tokio::test(start_paused = true)]
async fn three_layers_of_three_attempts_make_three_and_not_twenty_seven() {
    outermost().await.expect_err("it never works");
    assert_eq!(INNERMOST.times(), 3);
    for layer in ["retry-layer-1", "retry-layer-2", "retry-layer-3"] {
        let s = find(layer).snapshot();
        let retries = if layer == "retry-layer-1" { 2 } else { 0 };
        assert_eq!((s.admitted, s.retries.made), (3, retries), "{layer}");
        assert_rests(find(layer));
    }
    innermost().await.expect_err("it never works");
    assert_eq!(INNERMOST.times(), 6, "by itself it is its own owner");
}

static IN_A_TASK: Ran = Ran::new();

#[bulkhead(
    name = "retry-in-a-task", max = 4,
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn in_a_task() -> Result<(), Failed> {
    Err(Failed::Transient(IN_A_TASK.one()))
}

#[bulkhead(
    name = "retry-spawns", max = 4,
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn spawns(carries: bool) -> Result<(), Failed> {
    let task = if carries {
        bulkhead_runtime::spawn(in_a_task())
    } else {
        tokio::spawn(in_a_task())
    };
    task.await.expect("it does not panic")
}

#[tokio::test(start_paused = true)]
async fn the_owner_is_known_in_a_task_that_carries_the_frame() {
    spawns(true).await.expect_err("it never works");
    assert_eq!(IN_A_TASK.times(), 2);
    spawns(false).await.expect_err("it never works");
    assert_eq!(
        IN_A_TASK.times(),
        2 + 2 * 2,
        "a plain task starts without a frame"
    );
}

// ---- the budget

#[partition(name = "retry-budget", max = 1, retry_budget(ratio = 20%, min = 3, window = 10s))]
static BUDGET: Partition;

#[bulkhead(BUDGET, retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient))]
async fn on_a_budget(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_failures_a_fifth_and_the_minimum_are_tried_again() {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let subscription = subscribe(move |event: &Event<'_>| {
        if let Event::BudgetSpent {
            partition,
            function,
            ..
        } = event
            && std::ptr::eq(*partition, &raw const BUDGET)
        {
            assert!(function.ends_with("on_a_budget"), "{function}");
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let ran = Ran::new();
    for call in 0..1_000 {
        let before = ran.times();
        let error = on_a_budget(&ran).await.expect_err("it fails");
        let Failed::Transient(last) = error else {
            panic!("the caller sees the error as it is: {error:?}")
        };
        assert_eq!(last, ran.times());
        if call == 0 {
            assert_eq!(ran.times(), 2, "a lone call may retry");
        }
        assert!(ran.times() > before, "the first attempt needs no budget");
    }
    subscription.unsubscribe();
    let s = BUDGET.snapshot();
    assert_eq!(s.retries.made, 203, "a fifth of a thousand, and three");
    assert_eq!(s.retries.budget_spent, 1_000 - 203);
    assert_eq!(told.load(Ordering::SeqCst), 1_000 - 203);
    assert!((s.attempts_per_call() - 1.203).abs() < 1e-9, "{s:?}");

    sleep(Duration::from_secs(11)).await;
    for _ in 0..5 {
        on_a_budget(&ran).await.expect_err("it fails");
    }
    let s = BUDGET.snapshot();
    assert_eq!(
        s.retries.made,
        203 + 4,
        "what was saved up is gone with its window; there are the three, and the fifth call pays for one"
    );
    assert_eq!(s.admitted, u64::from(ran.times()));
    assert_rests(&BUDGET);
}

#[partition(name = "retry-paid", max = 1, retry_budget(ratio = 100%, min = 1, window = 10s))]
static PAID: Partition;

#[bulkhead(PAID, deadline = 1s)]
async fn pays_nothing() -> Result<(), Failed> {
    Ok(())
}

#[bulkhead(PAID, deadline = 1s, fallback = hands_back(error))]
async fn pays_nothing_either() -> Result<(), Failed> {
    Ok(())
}

#[expect(
    clippy::unused_async,
    reason = "a fallback is async, also one that waits for nothing"
)]
async fn hands_back(error: Failed) -> Result<(), Failed> {
    Err(error)
}

#[bulkhead(PAID, retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient))]
async fn pays(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn only_functions_that_retry_pay_for_retries() {
    for _ in 0..10 {
        pays_nothing().await.expect("there is room");
        pays_nothing_either().await.expect("there is room");
    }
    let ran = Ran::new();
    pays(&ran).await.expect_err("it fails");
    assert_eq!(ran.times(), 3, "it has paid for one, and one is free");
    pays(&ran).await.expect_err("it fails");
    assert_eq!(ran.times(), 5, "it pays for one each time");
    assert_eq!(PAID.snapshot().admitted, 20 + 5);
}

// ---- what others see of it

static SEEN: Ran = Ran::new();

#[bulkhead(
    name = "retry-breaker", max = 4, timeout = 1s, breaker(consecutive = 2, open_for = 1h),
    retry(idempotent, attempts = 5, backoff = 1ms, when = is_transient),
)]
async fn under_a_breaker() -> Result<(), Failed> {
    Err(Failed::Transient(SEEN.one()))
}

#[tokio::test(start_paused = true)]
async fn a_breaker_sees_every_attempt_and_an_open_one_ends_them() {
    let error = under_a_breaker().await.expect_err("it never works");
    assert!(
        matches!(error, Failed::Transient(2)),
        "the failure, and not that the breaker is open: {error:?}"
    );
    assert_eq!(SEEN.times(), 2);
    let watched = find("retry-breaker");
    let s = watched.snapshot();
    assert_eq!((s.rejected.breaker_open, s.retries.rejected), (1, 1));
    assert_eq!((s.started, s.admitted), (3, 2), "one attempt was rejected");
    assert_eq!(of(watched, "under_a_breaker").state(), BreakerState::Open);
    assert_nobody_is_left(&s);
}

#[bulkhead(
    name = "retry-nested", max = 1,
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn nested(ran: &Ran) -> Result<(), Failed> {
    ran.one();
    Err(Failed::Transient(0))
}

#[bulkhead(name = "retry-around", max = 4, timeout = 1s, breaker(consecutive = 1, open_for = 1h))]
async fn around(ran: &Ran) -> Result<(), Failed> {
    let nested = nested(ran);
    tokio::pin!(nested);
    assert!(poll_once(nested.as_mut()).is_pending(), "it backs off");
    let _taken = find("retry-nested").try_enter().expect("it is free");
    nested.await
}

#[tokio::test(start_paused = true)]
async fn a_retry_without_a_permit_does_not_hide_the_failure_from_a_breaker_outside() {
    let ran = Ran::new();
    around(&ran).await.expect_err("it fails");
    assert_eq!(ran.times(), 1);
    assert_eq!(find("retry-nested").snapshot().retries.rejected, 1);
    let breaker = of(find("retry-around"), "around");
    assert_eq!(
        breaker.state(),
        BreakerState::Open,
        "the dependency has failed, and that counts"
    );
}

#[bulkhead(
    name = "retry-own-deadline", max = 1, deadline = 50ms, breaker(consecutive = 2, open_for = 5ms, probes = 1),
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn hangs_by_itself() -> Result<(), Failed> {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_its_own_is_a_failure_and_that_of_a_caller_is_nothing() {
    let watched = find("retry-own-deadline");
    let breaker = of(watched, "hangs_by_itself");
    Deadline::after(ms(20))
        .scope(hangs_by_itself())
        .await
        .expect_err("its caller stops it");
    assert_eq!(window(breaker).1, 0);
    hangs_by_itself().await.expect_err("it stops itself");
    assert_eq!(window(breaker).1, 1);
    hangs_by_itself().await.expect_err("it stops itself");
    assert_eq!(breaker.state(), BreakerState::Open);

    sleep(ms(20)).await;
    let mut probe = Box::pin(hangs_by_itself());
    assert!(poll_once(probe.as_mut()).is_pending());
    let state = || breaker.snapshot().state;
    assert_eq!(state(), BreakerState::HalfOpen);
    sleep(ms(30)).await;
    hangs_by_itself().await.expect_err("the probe is out");
    assert_eq!(state(), BreakerState::HalfOpen, "it may still come back");
    sleep(ms(30)).await;
    hangs_by_itself()
        .await
        .expect_err("the probe is out, or it is open again");
    assert_eq!(
        state(),
        BreakerState::Open,
        "a probe that nobody polls any more expires when the deadline is over that it has by itself"
    );
}

#[bulkhead(
    name = "retry-rest-of-deadline", max = 1, deadline = 50ms, breaker(consecutive = 9),
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn hangs_in_what_is_left(ran: &Ran) -> Result<(), Failed> {
    sleep(ms(30)).await;
    if ran.one() > 1 {
        return pending().await;
    }
    Err(Failed::Transient(1))
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_its_own_deadline_stops_early_is_a_failure_all_the_same() {
    let ran = Ran::new();
    hangs_in_what_is_left(&ran).await.expect_err("it hangs");
    let breaker = of(find("retry-rest-of-deadline"), "hangs_in_what_is_left");
    assert_eq!(window(breaker), (2, 2, 0), "both attempts failed");
}

#[bulkhead(
    name = "retry-cancelled", max = 2,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn hangs_at_the_second(ran: &Ran) -> Result<(), Failed> {
    match ran.one() {
        1 => Err(Failed::Transient(1)),
        _ => pending().await,
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_a_later_attempt_gives_its_permit_back() {
    let ran = Ran::new();
    let call = timeout(ms(20), hangs_at_the_second(&ran)).await;
    call.expect_err("it hangs");
    let s = find("retry-cancelled").snapshot();
    assert_eq!((s.outcomes.failure, s.outcomes.cancelled), (1, 1));
    assert_eq!((s.retries.made, s.retries.given_up), (1, 0));
    assert_rests(find("retry-cancelled"));
}

struct Unclonable(Arc<Ran>);

impl Clone for Unclonable {
    fn clone(&self) -> Self {
        assert!(self.0.one() < 2, "{}", ON_PURPOSE);
        Self(Arc::clone(&self.0))
    }
}

#[bulkhead(
    name = "retry-clone", max = 1,
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn clones(argument: Unclonable) -> Result<(), Failed> {
    drop(argument);
    Err(Failed::Transient(1))
}

#[tokio::test(start_paused = true)]
async fn a_retry_whose_argument_panics_when_it_is_cloned_is_accounted_for() {
    panics_on_purpose_are_silent();
    let call = tokio::spawn(clones(Unclonable(Arc::new(Ran::new()))));
    assert!(call.await.expect_err("it panics").is_panic());
    let s = find("retry-clone").snapshot();
    assert_eq!((s.retries.made, s.retries.given_up), (0, 1));
    assert_rests(find("retry-clone"));
}

#[partition(name = "retry-measured", max = 1, measured(rate = 0.1, mean = 80ms, shed = 50%))]
static MEASURED: Partition;

#[bulkhead(MEASURED, retry(idempotent, attempts = 9, backoff = 1h, cap = 1h, when = is_transient))]
async fn takes_long(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn no_retry_begins_that_could_not_be_done_in_time() {
    let ran = Ran::new();
    let start = Instant::now();
    let call = Deadline::after(ms(100)).scope(takes_long(&ran));
    call.await.expect_err("it fails");
    assert!(start.elapsed() <= ms(21), "{:?}", start.elapsed());
    assert_eq!(
        MEASURED.snapshot().rejected.deadline + u64::from(ran.times()),
        MEASURED.snapshot().started
    );
}

#[tokio::test(start_paused = true)]
async fn a_backoff_that_moves_to_another_task_is_still_ended_by_a_close() {
    static RAN: Ran = Ran::new();
    let closed = find("retry-moved");
    let mut call = Box::pin(moves(&RAN));
    assert!(poll_once(call.as_mut()).is_pending(), "it backs off");
    let call = tokio::spawn(call);
    tokio::task::yield_now().await;
    let start = Instant::now();
    closed.close();
    call.await
        .expect("it does not panic")
        .expect_err("it failed");
    assert_eq!(start.elapsed(), Duration::ZERO);
    closed.reopen();
    assert_rests(closed);
}

#[bulkhead(
    name = "retry-moved", max = 1,
    retry(idempotent, attempts = 2, backoff = 20s, cap = 20s, when = is_transient),
)]
async fn moves(ran: &Ran) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}
