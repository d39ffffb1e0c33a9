//! Many calls on several threads under three breakers, that open by themselves and by hand; a second or two, or as
//! long as `BULKHEAD_SOAK_SECONDS` says. At rest, all that was counted is what callers and bodies saw.

mod common;

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{BreakerState, BulkheadError, Partition, bulkhead, partition};
use common::{ON_PURPOSE, assert_bounds, assert_idle, ms, panics_on_purpose_are_silent};
use tokio::task::{JoinSet, yield_now};

const TASKS: u64 = 12;
const MAX: u64 = 3;

#[partition(
    name = "storm",
    max = 3,
    queue = 4,
    wait = 2ms,
    breaker(failure_rate = 60%, min_calls = 20, window = 1s, consecutive = 8, open_for = 1ms, probes = 2)
)]
static STORM: Partition;

#[derive(Debug)]
enum Failed {
    ByItself,
    Rejected(BulkheadError),
}

impl From<BulkheadError> for Failed {
    fn from(error: BulkheadError) -> Self {
        Self::Rejected(error)
    }
}

#[bulkhead(STORM, timeout = 3ms, breaker(consecutive = 3, open_for = 1ms, probes = 1))]
async fn first(body: impl Future<Output = bool> + Send) -> Result<(), Failed> {
    body.await.then_some(()).ok_or(Failed::ByItself)
}

#[bulkhead(STORM, timeout = 3ms, breaker(failure_rate = 40%, min_calls = 5, slow = 2ms, open_for = 1ms, probes = 3))]
async fn second(body: impl Future<Output = bool> + Send) -> Result<(), Failed> {
    body.await.then_some(()).ok_or(Failed::ByItself)
}

/// Seen from outside.
#[derive(Default)]
struct Outside {
    over: AtomicBool,
    calls: AtomicU64,
    inside: AtomicU64,
    bodies: AtomicU64,
    success: AtomicU64,
    failure: AtomicU64,
    panicked: AtomicU64,
    timed_out: AtomicU64,
    full: AtomicU64,
    wait_timeout: AtomicU64,
    breaker_open: AtomicU64,
    /// Callers that left while their body ran, and those that left before.
    left_within: AtomicU64,
    left_before: AtomicU64,
}

fn one_more(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::SeqCst) + 1
}

/// How a body goes on once it has begun.
#[derive(Debug, Clone, Copy)]
enum Goes {
    Well,
    WellAfter(u64),
    Wrong,
    WrongAfter(u64),
    Panics,
    Hangs,
}

impl Goes {
    fn drawn(random: u64) -> Self {
        match random % 16 {
            0..=6 => Self::Well,
            7..=9 => Self::WellAfter(random >> 8 & 3),
            10 => Self::Wrong,
            11 => Self::WrongAfter(random >> 8 & 3),
            12 => Self::Panics,
            13 => Self::Hangs,
            _ => Self::WellAfter(40),
        }
    }
}

async fn body(outside: Arc<Outside>, began: Arc<AtomicBool>, goes: Goes) -> bool {
    struct Inside<'o>(&'o Outside);
    impl Drop for Inside<'_> {
        fn drop(&mut self) {
            self.0.inside.fetch_sub(1, Ordering::SeqCst);
        }
    }
    began.store(true, Ordering::SeqCst);
    one_more(&outside.bodies);
    let inside = one_more(&outside.inside);
    let _inside = Inside(&outside);
    assert!(inside <= MAX, "{inside} inside");
    match goes {
        Goes::Well => {}
        Goes::WellAfter(polls) | Goes::WrongAfter(polls) => {
            for _ in 0..polls {
                yield_now().await;
            }
        }
        Goes::Wrong => return false,
        Goes::Panics => panic!("{}", ON_PURPOSE.to_owned()),
        Goes::Hangs => pending().await,
    }
    !matches!(goes, Goes::WrongAfter(_))
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }
}

/// A caller that calls again and again, and leaves one call in four in the middle.
async fn caller(outside: Arc<Outside>, seed: u64) {
    let mut random = Random(seed);
    while !outside.over.load(Ordering::SeqCst) {
        let began = Arc::new(AtomicBool::new(false));
        let (operation, goes) = (random.next() % 5, Goes::drawn(random.next()));
        let is_by_hand = operation == 0;
        // Nothing bounds what is held by hand, and what is left then is a success.
        let goes = match goes {
            Goes::Hangs if is_by_hand => Goes::Wrong,
            goes => goes,
        };
        let patience = match random.next() % 4 {
            0 if !is_by_hand => 1 + random.next() % 3,
            _ => u64::MAX,
        };
        one_more(&outside.calls);
        let body = body(Arc::clone(&outside), Arc::clone(&began), goes);
        let mut call: Pin<Box<dyn Future<Output = Result<(), Failed>> + Send>> = match operation {
            0 => Box::pin(by_hand(body)),
            1 | 2 => Box::pin(first(body)),
            _ => Box::pin(second(body)),
        };
        let ended = polled(call.as_mut(), patience).await;
        drop(call);
        tell(&outside, ended, began.load(Ordering::SeqCst));
        if random.next().is_multiple_of(8) {
            tokio::time::sleep(ms(1)).await;
        }
        yield_now().await;
    }
}

/// A permit that is held by hand: only the breaker of the partition knows of it.
async fn by_hand(body: impl Future<Output = bool>) -> Result<(), Failed> {
    let permit = STORM.enter().await?;
    let worked = body.await;
    permit.finish(if worked {
        bulkhead_runtime::Verdict::Success
    } else {
        bulkhead_runtime::Verdict::Failure
    });
    worked.then_some(()).ok_or(Failed::ByItself)
}

/// How a call ended, for its caller.
enum Ended {
    Left,
    Panicked,
    Returned(Result<(), Failed>),
}

/// Left after so many polls, if it has not ended by then.
async fn polled(
    mut call: Pin<&mut (dyn Future<Output = Result<(), Failed>> + Send)>,
    patience: u64,
) -> Ended {
    let mut polls = 0;
    poll_fn(move |cx| {
        polls += 1;
        match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
            Ok(Poll::Ready(result)) => Poll::Ready(Ended::Returned(result)),
            Err(_) => Poll::Ready(Ended::Panicked),
            Ok(Poll::Pending) if polls >= patience => Poll::Ready(Ended::Left),
            Ok(Poll::Pending) => {
                if patience < u64::MAX {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    })
    .await
}

fn tell(outside: &Outside, ended: Ended, began: bool) {
    one_more(match ended {
        Ended::Left if began => &outside.left_within,
        Ended::Left => &outside.left_before,
        Ended::Panicked => &outside.panicked,
        Ended::Returned(Ok(())) => &outside.success,
        Ended::Returned(Err(Failed::ByItself)) => &outside.failure,
        Ended::Returned(Err(Failed::Rejected(error))) => {
            assert_eq!(error.body_ran(), began, "{error}");
            match error {
                BulkheadError::CallTimeout(_) => &outside.timed_out,
                BulkheadError::Full(_) => &outside.full,
                BulkheadError::WaitTimeout(_) => &outside.wait_timeout,
                BulkheadError::BreakerOpen(_) => &outside.breaker_open,
                other => panic!("{other}"),
            }
        }
    });
}

/// Opens, disables and resets them by hand, now this one and now that one, and looks at everything meanwhile.
fn operator(outside: &Outside) -> u64 {
    let mut random = Random(77);
    let mut moves = 0;
    while !outside.over.load(Ordering::SeqCst) {
        let breakers: Vec<_> = STORM.breakers().collect();
        let breaker = breakers[usize::try_from(random.next() % 3).expect("of three")];
        match random.next() % 8 {
            0 => breaker.force_open(),
            1 => breaker.disable(),
            _ => breaker.reset(),
        }
        moves += 1;
        assert_bounds(&STORM.snapshot());
        let seen = breaker.snapshot();
        assert!(
            seen.failures <= seen.calls && seen.slow <= seen.calls,
            "{seen:?}"
        );
        std::thread::sleep(ms(1 + random.next() % 3));
    }
    moves
}

/// Nobody has taken a place of a probe with him: by itself it comes back.
async fn comes_back() {
    for breaker in STORM.breakers() {
        breaker.reset();
    }
    let fails = |outside: &Arc<Outside>| body(Arc::clone(outside), Arc::default(), Goes::Wrong);
    let works = |outside: &Arc<Outside>| body(Arc::clone(outside), Arc::default(), Goes::Well);
    let outside = Arc::new(Outside::default());
    for _ in 0..3 {
        first(fails(&outside)).await.expect_err("it fails");
    }
    let opened = STORM
        .breakers()
        .any(|breaker| breaker.state() == BreakerState::Open);
    assert!(opened, "three failures in a row");
    for _ in 0..100 {
        tokio::time::sleep(ms(2)).await;
        if first(works(&outside)).await.is_ok() && second(works(&outside)).await.is_ok() {
            break;
        }
    }
    for breaker in STORM.breakers() {
        assert_eq!(breaker.state(), BreakerState::Closed, "{breaker:?}");
    }
}

#[test]
fn at_rest_after_a_storm_every_call_is_counted_once() {
    panics_on_purpose_are_silent();
    let seconds = std::env::var("BULKHEAD_SOAK_SECONDS").map_or(2, |seconds| {
        seconds
            .parse()
            .expect("BULKHEAD_SOAK_SECONDS is a number of seconds")
    });
    let outside = Arc::new(Outside::default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .enable_time()
        .build()
        .unwrap();
    let moves = std::thread::scope(|scope| {
        let by_hand = scope.spawn(|| operator(&outside));
        runtime.block_on(async {
            let mut callers = JoinSet::new();
            for seed in 0..TASKS {
                callers.spawn(caller(Arc::clone(&outside), seed));
            }
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            outside.over.store(true, Ordering::SeqCst);
            callers.join_all().await;
        });
        by_hand.join().expect("the operator does not panic")
    });
    assert_adds_up(&outside);
    assert!(moves > 100, "{moves} moves by hand");
    runtime.block_on(comes_back());
    assert_idle(&STORM);
}

fn assert_adds_up(outside: &Outside) {
    let s = STORM.snapshot();
    let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
    assert_eq!((s.in_flight, s.granted, s.waiting), (0, 0, 0), "{s:?}");
    assert_eq!(count(&outside.inside), 0, "bodies that are gone");
    assert_eq!(s.started, count(&outside.calls), "{s:?}");
    assert_eq!(s.admitted, count(&outside.bodies), "{s:?}");
    let outcomes = [
        s.outcomes.success,
        s.outcomes.failure,
        s.outcomes.panicked,
        s.outcomes.timed_out,
        s.outcomes.cancelled,
        s.rejected.full,
    ];
    let seen = [
        &outside.success,
        &outside.failure,
        &outside.panicked,
        &outside.timed_out,
        &outside.left_within,
        &outside.full,
    ];
    assert_eq!(outcomes, seen.map(count), "{s:?}");
    let others = s.outcomes.ignored + s.rejected.closed + s.rejected.deadline;
    assert_eq!(others, 0, "nothing here ends like that: {s:?}");
    // Who had lost its place when it left was counted for that, and never learned of it.
    let [wait_timeout, open] = [&outside.wait_timeout, &outside.breaker_open].map(count);
    let is_counted = s.rejected.wait_timeout >= wait_timeout && s.rejected.breaker_open >= open;
    assert!(
        is_counted,
        "{wait_timeout} were too late, {open} came to an open breaker: {s:?}"
    );
    let unseen = s.rejected.wait_timeout - wait_timeout + s.rejected.breaker_open - open;
    assert_eq!(s.abandoned + unseen, count(&outside.left_before), "{s:?}");
    for part in outcomes
        .into_iter()
        .chain([s.abandoned, open, wait_timeout])
    {
        assert!(part > 0, "all of it took part: {s:?}");
    }
}
