//! Bodies that settle: once they have started, a caller that leaves does not stop them.

mod common;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bulkhead_runtime::{BreakerState, Deadline, Partition, Reason, bulkhead, partition};
use common::attempts::{Failed, Ran, assert_rests, is_transient};
use common::watched::{find, of};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use tokio::time::{Instant, sleep, timeout};

/// The ledger of a payment: what was begun, and what was done.
#[derive(Default)]
struct Ledger {
    begun: AtomicBool,
    done: AtomicBool,
}

impl Ledger {
    async fn charge(&self, time: Duration) {
        self.begun.store(true, Ordering::SeqCst);
        sleep(time).await;
        self.done.store(true, Ordering::SeqCst);
    }

    fn is(&self) -> (bool, bool) {
        let is = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
        (is(&self.begun), is(&self.done))
    }
}

#[bulkhead(name = "settle", max = 1, queue = 1, wait = 1s, settle)]
async fn charge(ledger: Arc<Ledger>, time: Duration) -> Result<u32, Failed> {
    ledger.charge(time).await;
    Ok(7)
}

#[tokio::test(start_paused = true)]
async fn a_body_that_has_started_runs_to_its_end_though_its_caller_has_left() {
    let settle = find("settle");
    let ledger = Arc::new(Ledger::default());
    let call = timeout(ms(10), charge(Arc::clone(&ledger), ms(100))).await;
    call.expect_err("the caller has left");
    assert_eq!(ledger.is(), (true, false));
    let s = settle.snapshot();
    assert_eq!((s.in_flight, s.headroom), (1, 0), "it keeps its permit");
    sleep(ms(100)).await;
    assert_eq!(ledger.is(), (true, true));
    let s = settle.snapshot();
    assert_eq!(
        (s.outcomes.success, s.outcomes.cancelled),
        (1, 0),
        "counted as what it became"
    );

    let ledger = Arc::new(Ledger::default());
    assert_eq!(
        charge(Arc::clone(&ledger), ms(5))
            .await
            .expect("it is done"),
        7
    );
    assert_eq!(settle.snapshot().outcomes.success, 2);

    // One that waits has not started.
    let held = settle.try_enter().expect("it is free");
    let waiting = Arc::new(Ledger::default());
    let mut call = Box::pin(charge(Arc::clone(&waiting), ms(5)));
    assert!(poll_once(call.as_mut()).is_pending());
    drop(call);
    assert_eq!(Arc::strong_count(&waiting), 1, "the body is gone");
    drop(held);
    sleep(ms(50)).await;
    assert_eq!(waiting.is(), (false, false));
    let s = settle.snapshot();
    assert_eq!((s.abandoned, s.admitted), (1, 3));
    assert_rests(settle);
}

#[bulkhead(name = "settle-first-poll", max = 1, settle)]
async fn at_once(ledger: Arc<Ledger>) -> Result<(), Failed> {
    ledger.charge(ms(1)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_right_after_its_first_poll_has_started_the_body() {
    let ledger = Arc::new(Ledger::default());
    let mut call = Box::pin(at_once(Arc::clone(&ledger)));
    assert!(poll_once(call.as_mut()).is_pending());
    drop(call);
    sleep(ms(10)).await;
    assert_eq!(ledger.is(), (true, true));
    assert_eq!(find("settle-first-poll").snapshot().outcomes.success, 1);
}

#[bulkhead(name = "settle-panics", max = 1, settle)]
async fn panics() -> Result<(), Failed> {
    tokio::task::yield_now().await;
    panic!("{ON_PURPOSE}")
}

#[tokio::test]
async fn a_panic_goes_to_the_caller_that_is_still_there() {
    panics_on_purpose_are_silent();
    let joined = tokio::spawn(panics()).await;
    let panic = joined.expect_err("it panics").into_panic();
    let text = panic.downcast_ref::<String>().map(String::as_str);
    assert_eq!(text, Some(ON_PURPOSE));
    let s = find("settle-panics").snapshot();
    assert_eq!((s.outcomes.panicked, s.outcomes.cancelled), (1, 0));
    assert_idle(find("settle-panics"));
}

#[bulkhead(name = "settle-timeout", max = 1, timeout = 50ms, settle)]
async fn hangs(ledger: Arc<Ledger>) -> Result<(), Failed> {
    ledger.charge(Duration::from_secs(3_600)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn its_own_timeout_bounds_it_also_when_nobody_waits_for_it() {
    let bounded = find("settle-timeout");
    let ledger = Arc::new(Ledger::default());
    let error = hangs(Arc::clone(&ledger)).await.expect_err("it hangs");
    let error = error.ours();
    assert_eq!(error.reason(), Reason::CallTimeout);

    timeout(ms(10), hangs(Arc::clone(&ledger)))
        .await
        .expect_err("the caller has left");
    sleep(ms(50)).await;
    assert_eq!(bounded.snapshot().outcomes.timed_out, 2);
    assert_eq!(Arc::strong_count(&ledger), 1, "both bodies are gone");
    assert_idle(bounded);
}

#[bulkhead(name = "settle-deadline", max = 1, deadline = 50ms, settle)]
async fn is_late(ledger: Arc<Ledger>) -> Result<(), Failed> {
    assert!(
        Deadline::current().is_none(),
        "it says how long the caller waits, and that is over when it passes"
    );
    ledger.charge(ms(80)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_caller_and_not_the_body() {
    let deadline = find("settle-deadline");
    let ledger = Arc::new(Ledger::default());
    let start = Instant::now();
    let error = is_late(Arc::clone(&ledger)).await.expect_err("it is late");
    assert_eq!(start.elapsed(), ms(50));
    let error = error.ours();
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert!(error.body_ran(), "it still does");
    assert_eq!(deadline.snapshot().in_flight, 1);
    sleep(ms(31)).await;
    assert_eq!(ledger.is(), (true, true));
    let s = deadline.snapshot();
    assert_eq!((s.outcomes.success, s.outcomes.timed_out), (1, 0));

    let call = is_late(Arc::new(Ledger::default()));
    Deadline::at(Instant::now())
        .scope(call)
        .await
        .expect_err("before it has started it is rejected like any other");
    assert_eq!(deadline.snapshot().rejected.deadline, 1);
    assert_idle(deadline);
}

#[bulkhead(
    name = "settle-breaker", max = 2, timeout = 50ms, settle, breaker(consecutive = 2, open_for = 1h),
)]
async fn watched() -> Result<(), Failed> {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn a_breaker_hears_how_it_ended_also_when_the_caller_has_left() {
    for _ in 0..2 {
        timeout(ms(10), watched()).await.expect_err("it hangs");
    }
    let breaker = of(find("settle-breaker"), "watched");
    assert_eq!(breaker.state(), BreakerState::Closed, "both still run");
    sleep(ms(50)).await;
    assert_eq!(breaker.state(), BreakerState::Open);
}

#[bulkhead(name = "settle-nested", max = 1, settle)]
async fn slow() -> Result<(), Failed> {
    sleep(ms(500)).await;
    Ok(())
}

#[bulkhead(name = "settle-around", max = 1, timeout = 1s, breaker(consecutive = 1, open_for = 1h))]
async fn around() -> Result<(), Failed> {
    slow().await
}

#[tokio::test(start_paused = true)]
async fn what_the_callers_deadline_ends_says_nothing_about_the_dependency_outside() {
    Deadline::after(ms(50))
        .scope(around())
        .await
        .expect_err("its caller is late");
    let breaker = of(find("settle-around"), "around");
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[bulkhead(name = "settle-drained", max = 2, settle)]
async fn drained(time: Duration) -> Result<(), Failed> {
    sleep(time).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_what_settles_and_tells_since_when_it_runs() {
    let partition = find("settle-drained");
    for time in [ms(100), ms(200)] {
        timeout(ms(10), drained(time)).await.expect_err("it leaves");
    }
    let report = partition.drain(ms(30)).await;
    let left = &report.left()[0];
    assert_eq!((left.in_flight, left.settling.len()), (2, 2));
    assert!(left.settling[0].function.ends_with("drained"));
    assert_eq!(
        report.to_string(),
        "2 calls left after 30ms: `settle-drained`: 2 in flight, closed for 30ms, \
         settling: 2 of `settle::drained` for up to 50ms"
    );
    let report = partition.drain(ms(1_000)).await;
    assert!(report.is_complete());
    assert_eq!(report.took(), ms(160), "as soon as the last one is done");
    assert_eq!(partition.snapshot().outcomes.success, 2);
}

#[partition(name = "settle-inner", max = 1, queue = 1, wait = 1s)]
static INNER: Partition;

#[bulkhead(INNER)]
async fn inner() -> Result<(), Failed> {
    Ok(())
}

#[bulkhead(INNER, settle)]
async fn nested() -> Result<(), Failed> {
    inner().await
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_does_not_wait_for_the_permit_that_its_own_call_holds() {
    let error = nested().await.expect_err("there is one permit");
    let error = error.ours();
    assert_eq!(error.reason(), Reason::Full);
    assert_idle(&INNER);
}

static TRIED: Ran = Ran::new();

#[bulkhead(
    name = "settle-retry", max = 1, settle,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient),
)]
async fn tried(time: Duration) -> Result<u32, Failed> {
    let ran = TRIED.one();
    sleep(time).await;
    if ran == 2 {
        Ok(ran)
    } else {
        Err(Failed::Transient(ran))
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_settles_and_a_caller_that_has_left_makes_no_more() {
    assert_eq!(tried(ms(5)).await.expect("the second works"), 2);
    timeout(ms(2), tried(ms(5))).await.expect_err("it has left");
    sleep(ms(100)).await;
    assert_eq!(TRIED.times(), 3);
    let s = find("settle-retry").snapshot();
    assert_eq!(
        (s.admitted, s.outcomes.failure, s.outcomes.success),
        (3, 2, 1)
    );
    assert_rests(find("settle-retry"));
}

#[bulkhead(name = "settle-runtime", max = 1, settle)]
async fn until_shutdown() -> Result<(), Failed> {
    pending().await
}

#[test]
fn a_runtime_that_shuts_down_cancels_it() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        timeout(ms(1), until_shutdown())
            .await
            .expect_err("it hangs");
    });
    assert_eq!(find("settle-runtime").snapshot().in_flight, 1);
    drop(runtime);
    assert_eq!(find("settle-runtime").snapshot().outcomes.cancelled, 1);
    assert_idle(find("settle-runtime"));
}

#[bulkhead(name = "settle-queue", max = 1, queue = 1, wait = 1s, settle, retry(idempotent, attempts = 2, backoff = 1s, when = is_transient))]
async fn queued_once(ran: Arc<Ran>) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_settles_does_not_queue_either() {
    let queue = find("settle-queue");
    let ran = Arc::new(Ran::new());
    let call = tokio::spawn(queued_once(Arc::clone(&ran)));
    while queue.snapshot().backing_off == 0 {
        tokio::task::yield_now().await;
    }
    let held = queue.try_enter().expect("it is free");
    call.await
        .expect("it does not panic")
        .expect_err("it fails");
    let s = queue.snapshot();
    assert_eq!((ran.times(), s.retries.rejected), (1, 1));
    assert_eq!((s.rejected.full, s.rejected.wait_timeout), (1, 0), "{s:?}");
    drop(held);
}

#[bulkhead(name = "settle-waited", max = 1, queue = 1, wait = 150ms, deadline = 200ms, settle)]
async fn waited(time: Duration) -> Result<(), Failed> {
    sleep(time).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_error_of_its_deadline_tells_the_time_in_the_queue() {
    let first = tokio::spawn(waited(ms(100)));
    tokio::task::yield_now().await;
    let error = waited(ms(1_000)).await.expect_err("it is late").ours();
    assert_eq!(
        error.to_string(),
        "`settle-waited` was stopped by its deadline, after 100ms in the body; it had waited 100ms in the queue"
    );
    first.await.expect("it does not panic").expect("it is done");
}

#[bulkhead(name = "settle-unpolled", max = 1, settle)]
async fn unpolled() -> Result<(), Failed> {
    sleep(ms(10)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_not_polled_any_more_does_not_hold_up_a_drain() {
    let mut call = Box::pin(unpolled());
    assert!(poll_once(call.as_mut()).is_pending(), "its body is a task");
    let report = find("settle-unpolled").drain(ms(3_000)).await;
    assert!(report.is_complete(), "{report}");
    assert_eq!(report.took(), ms(10));
}
