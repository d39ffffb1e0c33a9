//! Fallbacks: for which endings they run, what they are given, what they hold, and how they are counted.

#![expect(
    clippy::unused_async,
    reason = "a fallback is async, also one that waits for nothing"
)]

mod common;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bulkhead_runtime::{
    BreakerState, BulkheadError, Deadline, Fallbacks, Partition, Reason, Verdict, bulkhead,
    partition,
};
use common::attempts::{Failed, Ran, assert_nobody_is_left, assert_rests, is_transient};
use common::watched::{find, of};
use common::{ON_PURPOSE, ms, panics_on_purpose_are_silent, poll_once};
use tokio::time::{Instant, sleep, timeout};

/// What the fallback made of what it was given.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Body,
    /// For our own error.
    Instead(Reason),
    /// For that of the body.
    ForFailure,
}

/// How the body of a test ends.
#[derive(Debug, Clone, Copy)]
enum Ends {
    Well,
    Fails,
    Ignored,
    Hangs,
}

impl Ends {
    async fn run(self) -> Result<Answer, Failed> {
        match self {
            Self::Well => Ok(Answer::Body),
            Self::Fails => Err(Failed::Transient(1)),
            Self::Ignored => Err(Failed::Lasting),
            Self::Hangs => pending().await,
        }
    }
}

fn lasting_is_ignored(result: &Result<Answer, Failed>) -> Verdict {
    match result {
        Ok(_) => Verdict::Success,
        Err(Failed::Lasting) => Verdict::Ignored,
        Err(_) => Verdict::Failure,
    }
}

async fn tells(error: Failed) -> Result<Answer, Failed> {
    match error {
        Failed::Ours(error) => Ok(Answer::Instead(error.reason())),
        Failed::Transient(_) => Ok(Answer::ForFailure),
        Failed::Lasting => panic!("a fallback never sees what is ignored"),
    }
}

async fn tells_and_holds_no_permit(error: Failed) -> Result<Answer, Failed> {
    // The test itself holds the one that these had waited for.
    let is_held = matches!(&error, Failed::Ours(error) if matches!(error.reason(), Reason::Full | Reason::WaitTimeout));
    let s = find("fallback-reasons").snapshot();
    assert_eq!(
        (s.in_flight, s.in_fallback),
        (u64::from(is_held), 1),
        "{s:?}"
    );
    tells(error).await
}

#[bulkhead(
    name = "fallback-reasons", max = 1, queue = 1, wait = 10ms, timeout = 50ms, classify = lasting_is_ignored,
    breaker(consecutive = 1000), fallback = tells_and_holds_no_permit(error),
)]
async fn for_every_reason(ends: Ends) -> Result<Answer, Failed> {
    ends.run().await
}

#[tokio::test(start_paused = true)]
async fn a_fallback_runs_for_every_reason_sees_it_and_holds_no_permit() {
    let reasons = find("fallback-reasons");
    let answer = |ends| async move { for_every_reason(ends).await.expect("the fallback answers") };

    assert_eq!(answer(Ends::Well).await, Answer::Body);
    assert_eq!(reasons.snapshot().fallbacks, Fallbacks::default());
    assert_eq!(answer(Ends::Fails).await, Answer::ForFailure);
    assert_eq!(
        answer(Ends::Hangs).await,
        Answer::Instead(Reason::CallTimeout)
    );

    let held = reasons.try_enter().expect("it is free");
    assert_eq!(
        answer(Ends::Well).await,
        Answer::Instead(Reason::WaitTimeout)
    );
    let mut waits = Box::pin(reasons.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    assert_eq!(answer(Ends::Well).await, Answer::Instead(Reason::Full));
    drop((waits, held));

    let late = Deadline::at(Instant::now()).scope(for_every_reason(Ends::Well));
    assert_eq!(
        late.await
            .expect("one that is ready at once has time to say so"),
        Answer::Instead(Reason::DeadlineExceeded)
    );
    let stopped = Deadline::after(ms(5)).scope(for_every_reason(Ends::Hangs));
    assert_eq!(
        stopped.await.expect("likewise"),
        Answer::Instead(Reason::DeadlineExceeded)
    );

    let breaker = reasons.breakers().next().expect("that of the function");
    breaker.force_open();
    assert_eq!(
        answer(Ends::Well).await,
        Answer::Instead(Reason::BreakerOpen)
    );
    breaker.reset();
    reasons.close();
    assert_eq!(answer(Ends::Well).await, Answer::Instead(Reason::Closed));
    reasons.reopen();

    let s = reasons.snapshot();
    assert_eq!((s.fallbacks.answered, s.fallbacks.unanswered), (8, 0));
    assert_rests(reasons);
}

#[bulkhead(name = "fallback-ignored", max = 1, classify = lasting_is_ignored, fallback = tells(error))]
async fn ends(ends: Ends) -> Result<Answer, Failed> {
    ends.run().await
}

#[tokio::test]
async fn a_fallback_never_runs_for_what_is_ignored() {
    let error = ends(Ends::Ignored).await;
    assert!(matches!(error, Err(Failed::Lasting)), "{error:?}");
    assert_eq!(
        ends(Ends::Fails).await.expect("it answers"),
        Answer::ForFailure
    );
    let s = find("fallback-ignored").snapshot();
    assert_eq!(
        (
            s.outcomes.ignored,
            s.fallbacks.answered,
            s.fallbacks.unanswered
        ),
        (1, 1, 0)
    );
}

// ---- what it holds

#[bulkhead(name = "fallback-permit", max = 1, fallback = slowly(error))]
async fn then_slowly() -> Result<(), Failed> {
    Err(Failed::Transient(1))
}

async fn slowly(error: Failed) -> Result<(), Failed> {
    sleep(ms(100)).await;
    match error {
        Failed::Transient(_) => Ok(()),
        error => Err(error),
    }
}

#[tokio::test(start_paused = true)]
async fn the_permit_is_back_while_the_fallback_runs() {
    let permit = find("fallback-permit");
    let call = tokio::spawn(then_slowly());
    sleep(ms(50)).await;
    let s = permit.snapshot();
    assert_eq!((s.in_fallback, s.in_flight, s.headroom), (1, 0, 1));
    drop(permit.try_enter().expect("it is free"));
    call.await.expect("it does not panic").expect("it answers");
    let s = permit.snapshot();
    assert_eq!((s.in_fallback, s.fallbacks.answered), (0, 1));
    assert_nobody_is_left(&s);
}

#[bulkhead(name = "fallback-cancelled", max = 1, fallback = hangs(alive, error))]
async fn then_hangs(alive: Arc<()>) -> Result<(), Failed> {
    Err(Failed::Transient(
        Arc::strong_count(&alive).try_into().expect("few"),
    ))
}

async fn hangs(alive: Arc<()>, error: Failed) -> Result<(), Failed> {
    let held = (alive, error);
    pending::<()>().await;
    drop(held);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_its_fallback_leaves_nothing_behind() {
    let cancelled = find("fallback-cancelled");
    let alive = Arc::new(());
    let mut call = Box::pin(then_hangs(Arc::clone(&alive)));
    assert!(poll_once(call.as_mut()).is_pending(), "its fallback hangs");
    assert_eq!(cancelled.snapshot().in_fallback, 1);
    assert_eq!(Arc::strong_count(&alive), 2, "the fallback has it");
    drop(call);
    assert_eq!(Arc::strong_count(&alive), 1);
    let s = cancelled.snapshot();
    assert_eq!(
        (s.in_fallback, s.fallbacks.answered, s.fallbacks.unanswered),
        (0, 0, 1)
    );
    assert_eq!((s.outcomes.failure, s.outcomes.cancelled), (1, 0));
    assert_rests(cancelled);
}

#[bulkhead(name = "fallback-panics", max = 1, fallback = panics())]
async fn then_panics() -> Result<(), Failed> {
    Err(Failed::Lasting)
}

async fn panics() -> Result<(), Failed> {
    panic!("{ON_PURPOSE}")
}

#[tokio::test]
async fn a_fallback_that_panics_is_no_answer() {
    panics_on_purpose_are_silent();
    let joined = tokio::spawn(then_panics()).await;
    assert!(joined.expect_err("it panics").is_panic());
    let s = find("fallback-panics").snapshot();
    assert_eq!((s.fallbacks.answered, s.fallbacks.unanswered), (0, 1));
    assert_eq!((s.outcomes.failure, s.outcomes.panicked), (1, 0));
    assert_nobody_is_left(&s);
}

// ---- what it may do

#[bulkhead(name = "fallback-back", max = 1, fallback = hands_back(error))]
async fn handed_back() -> Result<(), Failed> {
    Err(Failed::Transient(7))
}

async fn hands_back(error: Failed) -> Result<(), Failed> {
    Err(error)
}

#[tokio::test]
async fn a_fallback_may_hand_the_error_back() {
    let error = handed_back().await;
    assert!(matches!(error, Err(Failed::Transient(7))), "{error:?}");
    let s = find("fallback-back").snapshot();
    assert_eq!((s.fallbacks.answered, s.fallbacks.unanswered), (0, 1));
}

#[partition(name = "fallback-other", max = 1)]
static OTHER: Partition;

#[bulkhead(OTHER)]
async fn other_channel(branch: u32, error: Failed) -> Result<u32, Failed> {
    match error {
        Failed::Ours(_) => Ok(branch),
        error => Err(error),
    }
}

#[bulkhead(name = "fallback-guarded", max = 1, fallback = other_channel(branch, error))]
async fn first_channel(branch: u32) -> Result<u32, Failed> {
    Ok(branch + 1)
}

#[tokio::test]
async fn a_fallback_may_be_a_guarded_function_itself() {
    let first = find("fallback-guarded");
    assert_eq!(first_channel(7).await.expect("there is room"), 8);
    let held = first.try_enter().expect("it is free");
    assert_eq!(first_channel(7).await.expect("the other answers"), 7);
    let both = OTHER.try_enter().expect("it is free");
    let error = first_channel(7).await.expect_err("both are full");
    let error = error.ours();
    assert_eq!(error.partition(), "fallback-other");
    drop((held, both));
    let s = first.snapshot();
    assert_eq!((s.fallbacks.answered, s.fallbacks.unanswered), (1, 1));
    assert_eq!(OTHER.snapshot().rejected.full, 1);
}

struct Shop {
    stale: u32,
}

impl Shop {
    #[bulkhead(name = "fallback-method", max = 1, fallback = self.stale_price(&item, error))]
    async fn price(&self, item: String) -> Result<(u32, bool), Failed> {
        match item.as_str() {
            "known" => Ok((7, true)),
            _ => Err(Failed::Transient(1)),
        }
    }

    async fn stale_price(&self, item: &str, _: Failed) -> Result<(u32, bool), Failed> {
        tokio::task::yield_now().await;
        Ok((
            self.stale + u32::try_from(item.len()).expect("short"),
            false,
        ))
    }
}

#[tokio::test]
async fn a_fallback_may_be_a_method_and_borrow_what_was_kept_for_it() {
    let shop = Shop { stale: 100 };
    assert_eq!(
        shop.price("known".to_owned()).await.expect("known"),
        (7, true)
    );
    assert_eq!(
        shop.price("four".to_owned()).await.expect("stale"),
        (104, false)
    );
}

fn as_status(_: BulkheadError) -> u16 {
    503
}

#[bulkhead(
    name = "fallback-status", max = 1, reject = as_status, fallback = instead_of(error),
    classify = |status: &u16| if *status < 500 { Verdict::Success } else { Verdict::Failure },
)]
async fn status(answer: u16) -> u16 {
    answer
}

async fn instead_of(error: u16) -> u16 {
    if error == 503 { 203 } else { error }
}

#[tokio::test]
async fn of_a_return_type_that_is_no_result_the_fallback_gets_the_whole() {
    assert_eq!(status(200).await, 200);
    assert_eq!(status(500).await, 500, "it hands it back");
    let held = find("fallback-status").try_enter().expect("it is free");
    assert_eq!(status(200).await, 203);
    drop(held);
    let s = find("fallback-status").snapshot();
    assert_eq!((s.fallbacks.answered, s.fallbacks.unanswered), (1, 1));
}

fn zero_is_a_failure(result: &Result<u32, Failed>) -> Verdict {
    match result {
        Ok(0) | Err(_) => Verdict::Failure,
        Ok(_) => Verdict::Success,
    }
}

static ASKED: AtomicBool = AtomicBool::new(false);

async fn asked(error: Failed) -> Result<u32, Failed> {
    ASKED.store(true, Ordering::SeqCst);
    Err(error)
}

#[bulkhead(name = "fallback-ok", max = 1, classify = zero_is_a_failure, fallback = asked(error))]
async fn answers_zero() -> Result<u32, Failed> {
    Ok(0)
}

#[tokio::test]
async fn an_ok_that_is_called_a_failure_has_no_error_to_fall_back_from() {
    assert_eq!(
        answers_zero().await.expect("it is what the body returned"),
        0
    );
    assert!(!ASKED.load(Ordering::SeqCst));
    let s = find("fallback-ok").snapshot();
    assert_eq!((s.outcomes.failure, s.fallbacks), (1, Fallbacks::default()));
}

// ---- the deadline

#[bulkhead(name = "fallback-late", max = 1, deadline = 100ms, fallback = takes(time, error))]
async fn fails_after(time: Duration) -> Result<(), Failed> {
    sleep(ms(30)).await;
    Err(Failed::Transient(
        u32::try_from(time.as_millis()).expect("short"),
    ))
}

async fn takes(time: Duration, _: Failed) -> Result<(), Failed> {
    let deadline = Deadline::current().expect("the fallback knows how long it has");
    assert!(deadline.remaining() <= ms(100), "{deadline:?}");
    sleep(time).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_bounded_by_the_deadline_of_the_call() {
    let late = find("fallback-late");
    fails_after(ms(60)).await.expect("it is in time");
    let start = Instant::now();
    let error = fails_after(ms(100)).await.expect_err("it is late");
    assert_eq!(start.elapsed(), ms(100));
    let error = error.ours();
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert!(error.body_ran(), "it ran, and failed");
    assert_eq!(
        error.to_string(),
        "`fallback-late` was stopped by its deadline, after 70ms in its fallback, which followed a body that failed"
    );
    let held = late.try_enter().expect("it is free");
    let error = fails_after(ms(200)).await.expect_err("it is late");
    let error = error.ours();
    assert!(!error.body_ran(), "there was no room for it");
    drop(held);
    let s = late.snapshot();
    assert_eq!((s.fallbacks.answered, s.fallbacks.unanswered), (1, 2));
    assert_nobody_is_left(&s);
}

#[bulkhead(name = "fallback-inner", max = 1, fallback = takes(time, error))]
async fn fails_at_once(time: Duration) -> Result<(), Failed> {
    Err(Failed::Transient(
        u32::try_from(time.as_millis()).expect("short"),
    ))
}

#[bulkhead(name = "fallback-outer", max = 1, timeout = 1s, breaker(consecutive = 1, open_for = 1h))]
async fn outer(time: Duration) -> Result<(), Failed> {
    fails_at_once(time).await
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_the_callers_deadline_stops_says_nothing_about_the_dependency() {
    Deadline::after(ms(50))
        .scope(outer(ms(500)))
        .await
        .expect_err("it is stopped");
    let breaker = of(find("fallback-outer"), "outer");
    assert_eq!(breaker.state(), BreakerState::Closed);
}

// ---- the end of the partition

#[bulkhead(name = "fallback-drained", max = 1, fallback = slowly(error))]
async fn then_drained() -> Result<(), Failed> {
    Err(Failed::Transient(1))
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_a_fallback_or_tells_of_it() {
    let drained = find("fallback-drained");
    let call = tokio::spawn(then_drained());
    sleep(ms(50)).await;
    let report = drained.drain(ms(10)).await;
    assert_eq!(report.left()[0].in_fallback, 1);
    assert_eq!(
        report.to_string(),
        "1 call left after 10ms: `fallback-drained`: 1 in a fallback, closed for 10ms"
    );
    let report = drained.drain(ms(1_000)).await;
    assert!(report.is_complete(), "{report}");
    assert_eq!(report.took(), ms(40), "as soon as it has answered");
    call.await.expect("it does not panic").expect("it answers");
}

// ---- after retries

static TRIED: Ran = Ran::new();

#[bulkhead(
    name = "fallback-retry", max = 1,
    retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient), fallback = last_word(error),
)]
async fn tried() -> Result<u32, Failed> {
    Err(Failed::Transient(TRIED.one()))
}

async fn last_word(error: Failed) -> Result<u32, Failed> {
    match error {
        Failed::Transient(last) => Ok(last),
        error => Err(error),
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_comes_after_the_last_attempt_and_sees_its_error() {
    assert_eq!(tried().await.expect("it answers"), 3);
    let s = find("fallback-retry").snapshot();
    assert_eq!((s.retries.made, s.fallbacks.answered), (2, 1));
    assert_eq!(s.admitted, u64::from(TRIED.times()));
    assert_nobody_is_left(&s);
}

#[bulkhead(
    name = "fallback-backoff", max = 1,
    retry(idempotent, attempts = 3, backoff = 1h, cap = 1h, when = is_transient), fallback = last_word(error),
)]
async fn backs_off() -> Result<u32, Failed> {
    Err(Failed::Transient(9))
}

#[tokio::test(start_paused = true)]
async fn a_fallback_answers_for_a_call_whose_backoff_ends_because_the_partition_closes() {
    let closed = find("fallback-backoff");
    let call = tokio::spawn(backs_off());
    tokio::task::yield_now().await;
    closed.close();
    let answer = timeout(ms(1), call).await.expect("at once");
    assert_eq!(answer.expect("it does not panic").expect("it answers"), 9);
    closed.reopen();
    assert_nobody_is_left(&closed.snapshot());
}

// ---- only what is named is kept

#[derive(Debug)]
struct Counted(Arc<Ran>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.one();
        Self(Arc::clone(&self.0))
    }
}

#[bulkhead(name = "fallback-clones", max = 1, fallback = of_one(one, error))]
async fn of_two(one: Counted, other: Counted) -> Result<(), Failed> {
    drop((one, other));
    Err(Failed::Transient(1))
}

async fn of_one(one: Counted, error: Failed) -> Result<(), Failed> {
    drop(one);
    Err(error)
}

#[tokio::test]
async fn only_the_arguments_that_a_fallback_names_are_cloned() {
    let (one, other) = (Arc::new(Ran::new()), Arc::new(Ran::new()));
    let call = of_two(Counted(Arc::clone(&one)), Counted(Arc::clone(&other)));
    call.await.expect_err("it is handed back");
    assert_eq!((one.times(), other.times()), (1, 0));
}

// ---- what those around it see

#[bulkhead(name = "fallback-crowded", max = 1, fallback = slowly(error))]
async fn crowded() -> Result<(), Failed> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn newcomers_that_fall_back_do_not_hold_up_a_drain() {
    let crowded_out = find("fallback-crowded");
    crowded().await.expect("there is room");
    let permit = crowded_out.try_enter().expect("it is free");
    let traffic = tokio::spawn(async {
        loop {
            tokio::spawn(crowded());
            sleep(ms(20)).await;
        }
    });
    let report = {
        let drain = crowded_out.drain(ms(5_000));
        sleep(ms(50)).await;
        drop(permit);
        drain.await
    };
    traffic.abort();
    assert!(report.is_complete(), "{report}");
    assert!(report.took() < ms(500), "{report}");
}

#[bulkhead(name = "fallback-late-comers", max = 1, fallback = slowly(error))]
async fn comes_late() -> Result<(), Failed> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_report_of_a_drain_does_not_tell_of_newcomers_that_fall_back() {
    let late = find("fallback-late-comers");
    let hangs = late.try_enter().expect("it is free");
    let drain = late.drain(ms(50));
    let newcomer = tokio::spawn(comes_late());
    let report = drain.await;
    let left = &report.left()[0];
    assert_eq!((left.in_flight, left.in_fallback), (1, 0), "{report}");
    assert_eq!(late.snapshot().in_fallback, 1, "there is one");
    drop(hangs);
    let answer = newcomer.await.expect("it does not panic");
    answer.expect_err("it hands back that the partition is closed");
}

#[partition(name = "fallback-nested", max = 1)]
static NESTED: Partition;

#[bulkhead(NESTED, fallback = nothing_found(error))]
async fn found() -> Result<(), Failed> {
    Ok(())
}

async fn nothing_found(_: Failed) -> Result<(), Failed> {
    Ok(())
}

#[bulkhead(name = "fallback-around", max = 1, timeout = 1s, breaker(consecutive = 2, open_for = 1h))]
async fn around() -> Result<(), Failed> {
    found().await?;
    Err(Failed::Lasting)
}

#[bulkhead(NESTED, fallback = hands_back(error))]
async fn found_or_not() -> Result<(), Failed> {
    Ok(())
}

#[bulkhead(name = "fallback-around-none", max = 1, timeout = 1s, breaker(consecutive = 2, open_for = 1h))]
async fn around_none() -> Result<(), Failed> {
    found_or_not().await
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_a_fallback_answered_does_not_hide_the_failures_around_it() {
    let _held = NESTED.try_enter().expect("it is free");
    for _ in 0..2 {
        around().await.expect_err("it fails by itself");
        around_none().await.expect_err("it is full inside");
    }
    let state = |partition, function| of(find(partition), function).state();
    assert_eq!(state("fallback-around", "around"), BreakerState::Open);
    assert_eq!(
        state("fallback-around-none", "around_none"),
        BreakerState::Closed,
        "nobody answered for that rejection, and it is ours"
    );
}

#[partition(name = "fallback-second", max = 1)]
static SECOND: Partition;

#[bulkhead(SECOND)]
async fn second(_: Failed) -> Result<(), Failed> {
    Ok(())
}

#[bulkhead(name = "fallback-under-way", max = 1, fallback = second(error))]
async fn fails_later() -> Result<(), Failed> {
    sleep(ms(50)).await;
    Err(Failed::Lasting)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_under_way_has_its_guarded_fallback_while_partitions_drain() {
    let call = tokio::spawn(fails_later());
    tokio::task::yield_now().await;
    let drains = (
        SECOND.drain(ms(1_000)),
        find("fallback-under-way").drain(ms(1_000)),
    );
    call.await
        .expect("it does not panic")
        .expect("its fallback is let in");
    assert!(
        drains.1.await.is_complete() && drains.0.await.is_complete(),
        "it is over"
    );
    let error = fails_later().await.expect_err("it comes too late").ours();
    assert_eq!(
        (error.partition(), error.reason()),
        ("fallback-second", Reason::Closed),
        "and so does its fallback"
    );
}

#[bulkhead(name = "fallback-format", max = 1, fallback = tells_of(format!("{error:?} at {branch}")))]
async fn formatted(branch: u32, r#type: String, order_id: u32) -> Result<String, Failed> {
    Err(Failed::Transient(
        branch + order_id + u32::from(r#type.is_empty()),
    ))
}

async fn tells_of(text: String) -> Result<String, Failed> {
    Ok(text)
}

#[tokio::test]
async fn a_fallback_may_name_the_error_and_arguments_in_a_format_string() {
    let told = formatted(7, "a".to_owned(), 1).await.expect("it answers");
    assert_eq!(told, "Transient(8) at 7");
}

#[partition(name = "fallback-owner", max = 9, retry_budget(ratio = 100%, min = 100))]
static OWNER: Partition;

#[bulkhead(OWNER, retry(idempotent, attempts = 3, backoff = 1ms, when = is_transient))]
async fn retries(ran: Arc<Ran>) -> Result<(), Failed> {
    Err(Failed::Transient(ran.one()))
}

#[bulkhead(OWNER, fallback = retries(ran))]
async fn only_falls(ran: Arc<Ran>) -> Result<(), Failed> {
    retries(ran).await
}

#[bulkhead(
    OWNER, retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient), fallback = retries(ran),
)]
async fn retries_and_falls(ran: Arc<Ran>) -> Result<(), Failed> {
    retries(ran).await
}

#[tokio::test(start_paused = true)]
async fn only_one_that_retries_owns_retries_and_not_in_its_fallback() {
    let ran = Arc::new(Ran::new());
    only_falls(Arc::clone(&ran))
        .await
        .expect_err("it never works");
    assert_eq!(ran.times(), 3 + 3);
    let ran = Arc::new(Ran::new());
    retries_and_falls(Arc::clone(&ran))
        .await
        .expect_err("it never works");
    assert_eq!(ran.times(), 2 + 3);
}
