//! Two threads, many calls, cancellations and resizes in between; a few seconds, or as many as
//! `BULKHEAD_SOAK_SECONDS` says.

mod common;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, Partition};
use common::{assert_idle, queued};
use tokio::task::{JoinSet, yield_now};

const TASKS: u64 = 12;
/// Far longer than anybody has to wait here: whoever waits so long was forgotten.
const FOR_EVER: Duration = Duration::from_secs(60);

/// What is seen from inside the bodies and by the callers.
#[derive(Default)]
struct Outside {
    inside: AtomicUsize,
    /// The most that may be inside, as the operator knows it.
    allowed: AtomicUsize,
    peak: AtomicUsize,
    bodies: AtomicU64,
    finished: AtomicU64,
    full: AtomicU64,
    /// Callers that left after at least one poll, before the end.
    left: AtomicU64,
    over: AtomicBool,
}

impl Outside {
    async fn body(&self, polls: u64) {
        let before = self.allowed.load(Ordering::SeqCst);
        let _inside = Inside(self);
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        let allowed = before.max(self.allowed.load(Ordering::SeqCst));
        assert!(inside <= allowed, "{inside} inside, {allowed} allowed");
        self.peak.fetch_max(inside, Ordering::SeqCst);
        self.bodies.fetch_add(1, Ordering::SeqCst);
        for _ in 0..polls {
            yield_now().await;
        }
    }
}

struct Inside<'o>(&'o Outside);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A caller that calls again and again, and leaves one call in three in the middle.
async fn caller(partition: &'static Partition, outside: Arc<Outside>, seed: u64) {
    let mut random = seed;
    while !outside.over.load(Ordering::SeqCst) {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (polls, leaves) = ((random >> 33) % 4, (random >> 40).is_multiple_of(3));
        let mut call = pin!(partition.call(outside.body(polls)));
        if leaves {
            match polled(call.as_mut(), 1 + (random >> 50) % 3).await {
                Some(result) => tell(&outside, &result),
                None => drop(outside.left.fetch_add(1, Ordering::SeqCst)),
            }
        } else {
            let result = tokio::time::timeout(FOR_EVER, call)
                .await
                .expect("a waiter waits for ever");
            tell(&outside, &result);
        }
        yield_now().await;
    }
}

/// Polls a future so many times, each time it is woken or the next time round.
async fn polled<F: Future>(mut future: Pin<&mut F>, times: u64) -> Option<F::Output> {
    for _ in 0..times {
        let polled = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        yield_now().await;
    }
    None
}

fn tell(outside: &Outside, result: &Result<(), BulkheadError>) {
    match result {
        Ok(()) => outside.finished.fetch_add(1, Ordering::SeqCst),
        Err(BulkheadError::Full(_)) => outside.full.fetch_add(1, Ordering::SeqCst),
        Err(other) => panic!("{other}"),
    };
}

/// Resizes up and down; what it allows is never less than what the partition may do.
async fn operator(partition: &'static Partition, outside: Arc<Outside>) -> u64 {
    let mut resizes = 0;
    for max in [2_u32, 5, 1, 4, 3].into_iter().cycle() {
        if outside.over.load(Ordering::SeqCst) {
            return resizes;
        }
        if max as usize > outside.allowed.load(Ordering::SeqCst) {
            outside.allowed.store(max as usize, Ordering::SeqCst);
            partition.resize(max).expect("within the bounds");
        } else {
            partition.resize(max).expect("within the bounds");
            while {
                let s = partition.snapshot();
                s.in_flight + s.granted > u64::from(max)
            } {
                yield_now().await;
            }
            outside.allowed.store(max as usize, Ordering::SeqCst);
        }
        resizes += 1;
        for _ in 0..50 {
            yield_now().await;
        }
    }
    resizes
}

#[test]
fn nothing_is_lost_invented_or_forgotten_under_load() {
    let seconds = std::env::var("BULKHEAD_SOAK_SECONDS").map_or(3, |seconds| {
        seconds
            .parse()
            .expect("BULKHEAD_SOAK_SECONDS is a number of seconds")
    });
    let partition = queued("soak", 3, 8, 2 * FOR_EVER);
    let outside = Arc::new(Outside::default());
    outside.allowed.store(3, Ordering::SeqCst);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let resizes = runtime.block_on(async {
        let mut callers = JoinSet::new();
        for seed in 0..TASKS {
            callers.spawn(caller(partition, Arc::clone(&outside), seed));
        }
        let operator = tokio::spawn(operator(partition, Arc::clone(&outside)));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        outside.over.store(true, Ordering::SeqCst);
        callers.join_all().await;
        operator.await.expect("the operator does not panic")
    });
    let [bodies, finished, full, left] = [
        &outside.bodies,
        &outside.finished,
        &outside.full,
        &outside.left,
    ]
    .map(|count| count.load(Ordering::SeqCst));
    let s = partition.snapshot();
    assert_eq!((s.in_flight, s.granted, s.waiting), (0, 0, 0), "{s:?}");
    assert_eq!(s.admitted, bodies, "bodies that started");
    assert_eq!(s.outcomes.success, finished, "bodies that ended");
    assert_eq!(s.rejected.full, full, "callers that were rejected");
    assert_eq!(
        s.rejected.total(),
        full,
        "nobody waited for a minute: {s:?}"
    );
    assert_eq!(
        s.outcomes.cancelled + s.abandoned,
        left,
        "callers that left"
    );
    assert_eq!(s.started, finished + full + left);
    assert_eq!(outside.inside.load(Ordering::SeqCst), 0);
    assert!(
        left * 10 >= s.started,
        "a tenth at least leaves: {left} of {}",
        s.started
    );
    assert!(
        s.abandoned > 0 && s.outcomes.cancelled > 0 && full > 0,
        "all of it took part: {s:?}"
    );
    assert!(resizes > 10, "{resizes} resizes");
    assert_eq!(
        outside.peak.load(Ordering::SeqCst),
        5,
        "all permits were used"
    );
    assert_idle(partition);
}
