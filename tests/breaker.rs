//! Breakers: what opens them and what does not, what an open one does to callers, and how it comes back.

mod common;

use std::future::{Future, pending, ready};
use std::pin::{Pin, pin};
use std::sync::Barrier;
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{
    BreakerPolicy, BreakerState, BulkheadError, Deadline, Mode, Partition, Policy, Reason, Verdict,
    register,
};
use common::{
    Crowd, ON_PURPOSE, Woken, assert_idle, ms, panics_on_purpose_are_silent, plain, poll_once,
};
use tokio::time::{Instant, advance, sleep};

/// Two failures in a row open it for a tenth of a second.
const TOUCHY: BreakerPolicy = BreakerPolicy::new()
    .with_consecutive(2)
    .with_open_for(Duration::from_millis(100))
    .with_max_open_for(Duration::from_secs(1))
    .with_probes(2);

/// Half of four calls open it, failed or slow from 20 ms on.
const BY_RATE: BreakerPolicy = BreakerPolicy::new()
    .with_min_calls(4)
    .with_slow(Duration::from_millis(20))
    .with_open_for(Duration::from_millis(100));

fn under(name: &str, policy: Policy, breaker: BreakerPolicy) -> &'static Partition {
    register(name, policy.with_breaker(breaker)).expect("each test has a name of its own")
}

fn state(partition: &Partition) -> BreakerState {
    partition.breaker().expect("it has one").state()
}

/// Calls, failures and slow calls in the window.
fn window(partition: &Partition) -> (u64, u64, u64) {
    let seen = partition.breaker().expect("it has one").snapshot();
    (seen.calls, seen.failures, seen.slow)
}

fn judge(worked: bool) -> Verdict {
    if worked {
        Verdict::Success
    } else {
        Verdict::Failure
    }
}

async fn call(
    partition: &Partition,
    body: impl Future<Output = bool>,
) -> Result<bool, BulkheadError> {
    partition
        .call(body)
        .timeout(ms(200))
        .classify(|worked| judge(*worked))
        .await
}

async fn fails(partition: &Partition) {
    let worked = call(partition, ready(false)).await;
    assert_eq!(worked.ok(), Some(false), "the body runs");
}

async fn works(partition: &Partition) {
    let worked = call(partition, ready(true)).await;
    assert_eq!(worked.ok(), Some(true), "the body runs");
}

/// Rejected at once, and the body is not touched.
async fn is_turned_away(partition: &Partition) -> Duration {
    let body = async { unreachable!("the body of a rejected call is never polled") };
    let error = call(partition, body).await.expect_err("it is open");
    assert_eq!(error.reason(), Reason::BreakerOpen, "{error}");
    assert!(!error.body_ran(), "{error}");
    error.retry_after().expect("it says when")
}

async fn open(partition: &Partition) {
    fails(partition).await;
    fails(partition).await;
    assert_eq!(state(partition), BreakerState::Open, "two in a row");
}

#[tokio::test(start_paused = true)]
async fn open_it_rejects_at_once_says_until_when_and_comes_back_by_probes() {
    let partition = under("breaker-cycle", Policy::new(2), TOUCHY);
    open(partition).await;
    let before = Instant::now();
    let left = is_turned_away(partition).await;
    assert_eq!(before.elapsed(), Duration::ZERO, "at once");
    assert!(left >= ms(100) && left < ms(120), "{left:?}");

    advance(left).await;
    works(partition).await;
    assert_eq!(state(partition), BreakerState::HalfOpen);
    works(partition).await;
    assert_eq!(state(partition), BreakerState::Closed);

    let s = partition.snapshot();
    assert_eq!((s.admitted, s.rejected.breaker_open), (4, 1));
    assert_eq!(s.started, 5, "every call once: {s:?}");
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn each_failed_probe_opens_it_for_longer_up_to_the_limit() {
    let partition = under("breaker-grows", Policy::new(2), TOUCHY);
    open(partition).await;
    for least in [100, 200, 400, 800, 1_000, 1_000] {
        let left = is_turned_away(partition).await;
        let most = ms(least + least / 5);
        assert!(left >= ms(least) && left <= most, "{left:?} for {least}");
        advance(left).await;
        fails(partition).await;
        assert_eq!(
            state(partition),
            BreakerState::Open,
            "one failure is enough"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_gives_its_place_back_and_one_that_hangs_expires() {
    let partition = under("breaker-probes", Policy::new(4), TOUCHY.with_probes(1));
    open(partition).await;
    advance(ms(120)).await;
    {
        let mut probe = pin!(call(partition, pending()));
        assert!(poll_once(probe.as_mut()).is_pending());
        is_turned_away(partition).await;
    }
    let mut hung = Box::pin(call(partition, pending()));
    assert!(
        poll_once(hung.as_mut()).is_pending(),
        "the place is free again"
    );
    is_turned_away(partition).await;

    // Nobody polls it at the end of its timeout.
    advance(ms(201)).await;
    is_turned_away(partition).await;
    assert_eq!(state(partition), BreakerState::Open, "it has failed");
    drop(hung);
    advance(ms(240)).await;
    works(partition).await;
    assert_eq!(state(partition), BreakerState::Closed);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_no_room_takes_no_probe() {
    let partition = under("breaker-room", Policy::new(1), TOUCHY.with_probes(1));
    let held = partition.try_enter().expect("it is free");
    let breaker = partition.breaker().expect("it has one");
    breaker.force_open();
    drop(held);
    breaker.reset();
    open(partition).await;
    advance(ms(120)).await;

    let mut probe = Box::pin(call(partition, pending()));
    assert!(
        poll_once(probe.as_mut()).is_pending(),
        "the only permit, and the only probe"
    );
    drop(probe);
    for _ in 0..3 {
        // Each time the permit is there, and so is the probe.
        let mut probe = pin!(call(partition, pending()));
        assert!(poll_once(probe.as_mut()).is_pending());
    }
    works(partition).await;
    assert_eq!(state(partition), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn half_open_nobody_queues() {
    let policy = Policy::new(1).with_queue(4, ms(50));
    let partition = under("breaker-half-open-queue", policy, TOUCHY.with_probes(1));
    open(partition).await;
    advance(ms(120)).await;
    let mut probe = Box::pin(call(partition, pending()));
    assert!(poll_once(probe.as_mut()).is_pending());
    for _ in 0..3 {
        let second = poll_once(pin!(call(partition, ready(true))));
        assert!(matches!(second, Poll::Ready(Err(_))), "{second:?}");
    }
    assert_eq!(partition.snapshot().waiting, 0);
    drop(probe);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn late_results_of_the_closed_era_decide_nothing() {
    let partition = under("breaker-late", Policy::new(8), TOUCHY);
    let slow = |worked| {
        call(partition, async move {
            sleep(ms(150)).await;
            worked
        })
    };
    let mut late: Vec<Pin<Box<_>>> = [true, false, false, true]
        .map(|worked| Box::pin(slow(worked)))
        .into();
    for call in &mut late {
        assert!(poll_once(call.as_mut()).is_pending());
    }
    open(partition).await;
    advance(ms(120)).await;
    works(partition).await;
    assert_eq!(state(partition), BreakerState::HalfOpen);
    advance(ms(30)).await;
    for call in late {
        call.await.expect("it was let in before");
    }
    assert_eq!(
        state(partition),
        BreakerState::HalfOpen,
        "neither closed nor opened"
    );
    works(partition).await;
    assert_eq!(state(partition), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn own_rejections_leave_the_window_as_it_was() {
    let policy = Policy::new(1).with_queue(1, ms(5));
    let partition = under("breaker-own", policy, BY_RATE);
    works(partition).await;
    let before = window(partition);
    let held = partition.try_enter().expect("it is free");
    for _ in 0..50 {
        // One waits until its time is up, one finds the queue full.
        let mut waits = pin!(call(partition, ready(true)));
        assert!(poll_once(waits.as_mut()).is_pending());
        let full = call(partition, ready(true)).await.expect_err("it is full");
        assert_eq!(full.reason(), Reason::Full);
        let late = waits.await.expect_err("its wait is over");
        assert_eq!(late.reason(), Reason::WaitTimeout);
    }
    assert_eq!(partition.snapshot().rejected.total(), 100);
    assert_eq!(window(partition), before);
    drop(held);
    assert_eq!(state(partition), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_of_impatient_clients_never_opens_it_for_a_dependency_that_works() {
    let partition = under("breaker-crowd", Policy::new(100), BY_RATE.with_min_calls(1));
    let healthy = || async {
        sleep(ms(10)).await;
        true
    };
    for _ in 0..300 {
        let late = Deadline::after(ms(5))
            .scope(call(partition, healthy()))
            .await;
        assert_eq!(
            late.expect_err("5 ms are too few").reason(),
            Reason::DeadlineExceeded
        );
        let left = tokio::time::timeout(ms(5), call(partition, healthy())).await;
        assert!(left.is_err(), "it left early");
    }
    assert_eq!(
        window(partition),
        (0, 0, 0),
        "nothing was said about the dependency"
    );
    assert_eq!(state(partition), BreakerState::Closed);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_hang_is_seen_although_every_client_leaves() {
    let seconds = Duration::from_secs;
    let breaker = BreakerPolicy::new()
        .with_slow(seconds(2))
        .with_min_calls(10);
    let partition = under("breaker-hang", Policy::new(100), breaker);
    let hangs = || partition.call(sleep(seconds(8))).timeout(seconds(20));
    for _ in 0..9 {
        let left = tokio::time::timeout(seconds(1), hangs()).await;
        assert!(left.is_err(), "it left before anybody could call it slow");
    }
    assert_eq!(window(partition), (0, 0, 0));
    let clients = (0..10).map(|at| {
        let impatient = tokio::time::timeout(seconds(5), hangs());
        let late = Deadline::after(seconds(5)).scope(hangs());
        async move {
            if at % 2 == 0 {
                impatient.await.expect_err("it hangs for 8 s");
            } else {
                late.await.expect_err("it hangs for 8 s");
            }
        }
    });
    let mut clients: Vec<_> = clients.map(Box::pin).collect();
    for client in &mut clients {
        assert!(poll_once(client.as_mut()).is_pending());
    }
    for client in clients {
        client.await;
    }
    assert_eq!(state(partition), BreakerState::Open);
    assert_idle_but_open(partition);
}

fn assert_idle_but_open(partition: &Partition) {
    partition.breaker().expect("it has one").disable();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn without_slow_a_call_that_was_left_after_its_whole_timeout_has_failed() {
    let breaker = BreakerPolicy::new().with_consecutive(1);
    let partition = under("breaker-not-slow", Policy::new(1), breaker);
    let mut hangs = Box::pin(call(partition, pending()));
    assert!(poll_once(hangs.as_mut()).is_pending());
    advance(ms(199)).await;
    drop(hangs);
    assert_eq!(state(partition), BreakerState::Closed);
    let mut hangs = Box::pin(call(partition, pending()));
    assert!(poll_once(hangs.as_mut()).is_pending());
    advance(ms(200)).await;
    drop(hangs);
    assert_eq!(state(partition), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn timeouts_panics_and_slow_calls_count_and_ignored_ones_do_not() {
    panics_on_purpose_are_silent();
    let partition = under("breaker-kinds", Policy::new(4), BY_RATE.with_min_calls(100));
    let timed_out = call(partition, pending()).await.expect_err("it hangs");
    assert_eq!(timed_out.reason(), Reason::CallTimeout);
    assert_eq!(window(partition), (1, 1, 1), "and it was slow");

    let panics = async { panic!("{}", ON_PURPOSE.to_owned()) };
    let panicked = tokio::spawn(call(partition, panics)).await;
    assert!(panicked.expect_err("it panics").is_panic());
    assert_eq!(window(partition), (2, 2, 1));

    let slow = async {
        sleep(ms(20)).await;
        true
    };
    call(partition, slow).await.expect("it is only slow");
    assert_eq!(window(partition), (3, 2, 2));

    let ignored = partition.call(ready(())).classify(|()| Verdict::Ignored);
    ignored.await.expect("it runs");
    works(partition).await;
    assert_eq!(window(partition), (4, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_failure_because_a_call_inside_was_rejected_says_nothing() {
    let outer = under("breaker-outer", Policy::new(2), BY_RATE);
    let inner = plain("breaker-inner", 1);
    let held = inner.try_enter().expect("it is free");
    let nested = async { inner.call(ready(())).await.is_ok() };
    assert_eq!(call(outer, nested).await.ok(), Some(false));
    assert_eq!(window(outer), (0, 0, 0));
    drop(held);

    // What is cut short inside by the deadline of the caller is cut short outside.
    let hangs = async { inner.call(pending::<()>()).await.is_ok() };
    let cut = Deadline::after(ms(5)).scope(call(outer, hangs)).await;
    assert!(!cut.unwrap_or(false), "it did not work");
    assert_eq!(window(outer), (0, 0, 0));

    fails(outer).await;
    assert_eq!(window(outer), (1, 1, 0), "a failure of its own counts");
}

#[tokio::test(start_paused = true)]
async fn when_it_opens_those_that_wait_are_rejected_at_once() {
    let policy = Policy::new(1).with_queue(8, ms(500));
    let partition = under("breaker-flush", policy, TOUCHY.with_consecutive(1));
    let mut runs = Box::pin(call(partition, async {
        sleep(ms(10)).await;
        false
    }));
    assert!(poll_once(runs.as_mut()).is_pending());
    let mut waiting: Vec<_> = (0..5)
        .map(|_| Box::pin(call(partition, ready(true))))
        .collect();
    for call in &mut waiting {
        assert!(poll_once(call.as_mut()).is_pending());
    }
    let mut abandoned = waiting.pop().map(|call| {
        let (woken, waker) = Woken::new();
        (woken, waker, call)
    });
    if let Some((_, waker, call)) = &mut abandoned {
        let polled = call
            .as_mut()
            .poll(&mut std::task::Context::from_waker(waker));
        assert!(polled.is_pending());
    }
    assert_eq!(partition.snapshot().waiting, 5);
    runs.await.expect("it was in flight");

    assert_eq!(
        partition.snapshot().waiting,
        0,
        "before any of them is polled"
    );
    assert_eq!(partition.snapshot().rejected.breaker_open, 5);
    let (woken, _, call) = abandoned.expect("put there above");
    assert_eq!(woken.times(), 1);
    drop(call);
    for call in waiting {
        let error = call.await.expect_err("its place is gone");
        assert_eq!(error.reason(), Reason::BreakerOpen);
        assert!(
            error.retry_after().is_some_and(|left| left >= ms(100)),
            "{error}"
        );
    }
    assert_eq!(partition.snapshot().rejected.breaker_open, 5, "each once");
    assert_eq!(partition.snapshot().abandoned, 0);
    assert_idle_but_open(partition);
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_comes_with_an_open_breaker_goes_back_unused() {
    let policy = Policy::new(1).with_queue(2, ms(500));
    let partition = under("breaker-granted", policy, TOUCHY);
    let held = partition.try_enter().expect("it is free");
    let mut granted = Box::pin(call(partition, ready(true)));
    assert!(poll_once(granted.as_mut()).is_pending());
    drop(held);
    assert_eq!(partition.snapshot().granted, 1);
    partition.breaker().expect("it has one").force_open();
    let error = granted.await.expect_err("it is open");
    assert_eq!(error.reason(), Reason::BreakerOpen);
    assert_eq!(error.retry_after(), None, "only a hand can close it");
    let s = partition.snapshot();
    assert_eq!(
        (s.admitted, s.rejected.breaker_open, s.in_flight),
        (1, 1, 0)
    );
    assert_idle_but_open(partition);
}

#[test]
fn of_a_thousand_arrivals_on_eight_threads_exactly_the_probes_run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    for probes in [1, 2, 7] {
        let policy = Policy::new(1_000).with_queue(100, ms(50));
        let name = format!("breaker-race-{probes}");
        let partition = under(&name, policy, TOUCHY.with_probes(probes));
        runtime.block_on(async {
            open(partition).await;
            advance(ms(120)).await;
        });
        let (start, crowd) = (Barrier::new(8), Crowd::default());
        let arrive = || {
            let _clock = runtime.enter();
            let mut calls: Vec<_> = (0..125)
                .map(|_| {
                    Box::pin(call(partition, async {
                        let _inside = crowd.enter();
                        pending().await
                    }))
                })
                .collect();
            start.wait();
            for call in &mut calls {
                if poll_once(call.as_mut()).is_pending() {
                    assert_eq!(partition.snapshot().waiting, 0, "nobody waits");
                }
            }
            calls
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(arrive)).collect();
            let calls: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect();
            assert_eq!(crowd.inside(), probes as usize);
            assert_eq!(crowd.ever(), u64::from(probes));
            drop(calls);
        });
        let s = partition.snapshot();
        assert_eq!(s.rejected.breaker_open, 1_000 - u64::from(probes));
        assert_eq!(s.rejected.total(), s.rejected.breaker_open, "{s:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn observed_it_lets_everything_run_and_counts_what_it_would_have_rejected() {
    let partition = under("breaker-observed", Policy::new(1), TOUCHY);
    partition.mode(Mode::Observe);
    open(partition).await;
    for told in 1..=3 {
        works(partition).await;
        assert_eq!(partition.snapshot().would_reject, told);
    }
    let held = partition.try_enter().expect("it lets everything in");
    works(partition).await;
    assert_eq!(
        partition.snapshot().would_reject,
        5,
        "once each, whether there was room or not"
    );
    drop(held);
    advance(ms(120)).await;
    works(partition).await;
    works(partition).await;
    assert_eq!(
        state(partition),
        BreakerState::Closed,
        "it comes back by itself"
    );
    assert_eq!(partition.snapshot().rejected.total(), 0);

    partition.mode(Mode::Off);
    for _ in 0..5 {
        fails(partition).await;
    }
    assert_eq!(
        state(partition),
        BreakerState::Closed,
        "it is not asked, and not told"
    );
    partition.mode(Mode::Enforce);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_hand_opens_disables_and_closes_it() {
    let partition = under("breaker-by-hand", Policy::new(1), TOUCHY);
    let breaker = partition.breaker().expect("it has one");
    assert_eq!(breaker.partition().name(), "breaker-by-hand");
    assert_eq!(breaker.function(), None);
    breaker.force_open();
    let error = call(partition, ready(true)).await.expect_err("it is open");
    assert_eq!(
        error.to_string(),
        "the breaker of `breaker-by-hand` is open"
    );
    advance(Duration::from_secs(3_600)).await;
    assert!(partition.try_enter().is_err(), "time does not close it");
    breaker.disable();
    for _ in 0..5 {
        fails(partition).await;
    }
    breaker.reset();
    assert_eq!(
        (state(partition), window(partition)),
        (BreakerState::Closed, (0, 0, 0))
    );
    open(partition).await;
}

#[tokio::test(start_paused = true)]
async fn permits_by_hand_are_watched_too() {
    let policy = Policy::new(2).with_queue(1, ms(50));
    let partition = under("breaker-permits", policy, TOUCHY);
    partition
        .try_enter()
        .expect("it is free")
        .finish(Verdict::Failure);
    partition
        .enter()
        .await
        .expect("it is free")
        .finish(Verdict::Failure);
    assert_eq!(state(partition), BreakerState::Open);
    for error in [
        partition.try_enter().expect_err("it is open"),
        partition.enter().await.expect_err("it is open"),
        partition.run_blocking(|| ()).await.expect_err("it is open"),
        partition
            .enter_by(Instant::now() + ms(10))
            .await
            .expect_err("it is open"),
    ] {
        assert_eq!(error.reason(), Reason::BreakerOpen);
    }
    advance(ms(120)).await;
    let probes = (partition.try_enter(), partition.enter().await);
    assert!(probes.0.is_ok() && probes.1.is_ok(), "two probes");
    drop(probes);
    assert_eq!(
        state(partition),
        BreakerState::Closed,
        "dropped, they were successes"
    );
    assert_idle(partition);
}

#[tokio::test]
async fn blocking_work_counts_as_what_it_became_and_not_when_its_caller_left() {
    panics_on_purpose_are_silent();
    let partition = under(
        "breaker-blocking",
        Policy::new(2),
        TOUCHY.with_consecutive(1),
    );
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let mut working = Box::pin(partition.run_blocking(move || {
        may_go.recv().expect("it is told to go on");
        panic!("{}", ON_PURPOSE.to_owned());
    }));
    assert!(poll_once(working.as_mut()).is_pending());
    drop(working);
    assert_eq!(state(partition), BreakerState::Closed, "the work goes on");
    go.send(()).expect("it waits");
    common::wire::until("the end of the work", || {
        partition.snapshot().in_flight == 0
    })
    .await;
    assert_eq!(state(partition), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_spent_deadline_is_the_reason_even_if_the_breaker_is_open() {
    let partition = under("breaker-spent", Policy::new(1), TOUCHY);
    open(partition).await;
    let spent = Deadline::after(Duration::ZERO).scope(call(partition, ready(true)));
    assert_eq!(
        spent.await.expect_err("it is late").reason(),
        Reason::DeadlineExceeded
    );
}

#[tokio::test(start_paused = true)]
async fn isolated_tests_have_breakers_of_their_own() {
    let partition = under("breaker-isolated", Policy::new(1), TOUCHY);
    open(partition).await;
    {
        let _isolated = bulkhead_runtime::test::isolate();
        assert_eq!(state(partition), BreakerState::Closed);
        works(partition).await;
    }
    assert_eq!(state(partition), BreakerState::Open);
}
