//! Random histories of calls that try again, fall back, settle, leave and panic, while the partition is closed and
//! reopened. At rest every count is what callers, bodies and fallbacks saw, and no more retries were made than the budget
//! affords.

mod common;

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bulkhead_runtime::{
    BulkheadError, Deadline, Partition, Snapshot, Verdict, bulkhead, partition, test,
};
use common::attempts::assert_nobody_is_left;
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent};
use proptest::prelude::*;
use tokio::time::{sleep, timeout};

const MAX: u64 = 2;

#[partition(
    name = "attempts", max = 2, queue = 1, wait = 3ms,
    retry_budget(ratio = 50%, min = 2, window = 1s), breaker(consecutive = 6, open_for = 2ms, probes = 1),
)]
static ATTEMPTS: Partition;

/// How a body or a fallback goes on once it has begun.
#[derive(Debug, Clone, Copy)]
enum Goes {
    WellAfter(u64),
    TransientAfter(u64),
    IgnoredAfter(u64),
    Hangs,
    Panics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Falls,
    Settles,
    Both,
}

#[derive(Debug, Clone)]
struct Plan {
    which: Which,
    comes: u64,
    leaves: Option<u64>,
    deadline: Option<u64>,
    bodies: [Goes; 3],
    fallback: Goes,
}

#[derive(Debug)]
enum Failed {
    /// In the `n`th body.
    Transient(u32),
    Ignored,
    Ours(#[expect(dead_code, reason = "for a panic's text")] BulkheadError),
}

impl From<BulkheadError> for Failed {
    fn from(error: BulkheadError) -> Self {
        Self::Ours(error)
    }
}

type Answer = Result<(), Failed>;

fn is_transient(failed: &Failed) -> bool {
    !matches!(failed, Failed::Ignored)
}

fn verdict(answer: &Answer) -> Verdict {
    match answer {
        Ok(()) => Verdict::Success,
        Err(Failed::Ignored) => Verdict::Ignored,
        Err(_) => Verdict::Failure,
    }
}

/// One call, and what was seen of it from outside.
struct Seen {
    plan: Plan,
    bodies: AtomicU32,
    all: Arc<Outside>,
}

#[derive(Debug, Default)]
struct Outside {
    inside: AtomicU64,
    bodies: AtomicU64,
    ended: Ends,
    fallbacks: AtomicU64,
    answered: AtomicU64,
}

#[derive(Debug, Default)]
struct Ends {
    success: AtomicU64,
    failure: AtomicU64,
    ignored: AtomicU64,
    panicked: AtomicU64,
}

fn one_more(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::SeqCst) + 1
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::SeqCst)
}

impl Seen {
    async fn body(&self) -> Answer {
        struct Inside<'o>(&'o Outside);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                self.0.inside.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let Outside {
            inside,
            bodies,
            ended,
            ..
        } = &*self.all;
        one_more(bodies);
        assert!(one_more(inside) <= MAX, "one too many inside");
        let _inside = Inside(&self.all);
        let number = self.bodies.fetch_add(1, Ordering::SeqCst);
        let index = usize::try_from(number).expect("few");
        let (answer, count) = match self.plan.bodies[index] {
            Goes::WellAfter(millis) => {
                sleep(ms(millis)).await;
                (Ok(()), &ended.success)
            }
            Goes::TransientAfter(millis) => {
                sleep(ms(millis)).await;
                (Err(Failed::Transient(number + 1)), &ended.failure)
            }
            Goes::IgnoredAfter(millis) => {
                sleep(ms(millis)).await;
                (Err(Failed::Ignored), &ended.ignored)
            }
            Goes::Hangs => pending().await,
            Goes::Panics => {
                one_more(&ended.panicked);
                panic!("{ON_PURPOSE}")
            }
        };
        one_more(count);
        answer
    }

    async fn fallback(&self, failed: Failed) -> Answer {
        assert!(
            !matches!(failed, Failed::Ignored),
            "a fallback for what is ignored"
        );
        if let Failed::Transient(number) = failed {
            let bodies = self.bodies.load(Ordering::SeqCst);
            assert_eq!(number, bodies, "the error is that of the last body");
        }
        one_more(&self.all.fallbacks);
        match self.plan.fallback {
            Goes::WellAfter(millis) => sleep(ms(millis)).await,
            Goes::IgnoredAfter(millis) => {
                sleep(ms(millis)).await;
                one_more(&self.all.answered);
                return Err(Failed::Ignored);
            }
            Goes::TransientAfter(_) => return Err(failed),
            Goes::Hangs => pending().await,
            Goes::Panics => panic!("{ON_PURPOSE}"),
        }
        one_more(&self.all.answered);
        Ok(())
    }
}

async fn instead(seen: Arc<Seen>, error: Failed) -> Answer {
    seen.fallback(error).await
}

#[bulkhead(
    ATTEMPTS, timeout = 4ms, classify = verdict, fallback = instead(seen, error),
    retry(idempotent, attempts = 3, backoff = 2ms, cap = 3ms, when = is_transient),
)]
async fn falls(seen: Arc<Seen>) -> Answer {
    seen.body().await
}

#[bulkhead(ATTEMPTS, timeout = 4ms, classify = verdict, settle)]
async fn settles(seen: Arc<Seen>) -> Answer {
    seen.body().await
}

#[bulkhead(
    ATTEMPTS, timeout = 4ms, classify = verdict, settle, fallback = instead(seen, error),
    retry(idempotent, attempts = 2, backoff = 1ms, when = is_transient),
)]
async fn both(seen: Arc<Seen>) -> Answer {
    seen.body().await
}

async fn run(seen: Arc<Seen>) {
    let Plan {
        which,
        comes,
        leaves,
        deadline,
        ..
    } = seen.plan;
    sleep(ms(comes)).await;
    let call = async move {
        match which {
            Which::Falls => falls(seen).await,
            Which::Settles => settles(seen).await,
            Which::Both => both(seen).await,
        }
    };
    let call = async move {
        match deadline {
            Some(millis) => Deadline::after(ms(millis)).scope(call).await,
            None => call.await,
        }
    };
    // It hangs in its fallback, if nothing else; and a caller that has left is what is looked for.
    let patience = leaves.map_or(Duration::from_secs(5), ms);
    let left = timeout(patience, Unwinds(Box::pin(call))).await;
    drop(left);
}

/// Catches the panics of a call: they are on purpose.
struct Unwinds<F>(std::pin::Pin<Box<F>>);

impl<F: Future> Future for Unwinds<F> {
    type Output = Option<F::Output>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)));
        match polled {
            Ok(polled) => polled.map(Some),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                assert_eq!(text, Some(ON_PURPOSE), "a panic of the library");
                std::task::Poll::Ready(None)
            }
        }
    }
}

fn goes() -> impl Strategy<Value = Goes> {
    prop_oneof![
        3 => (0..3_u64).prop_map(Goes::WellAfter),
        5 => (0..3_u64).prop_map(Goes::TransientAfter),
        1 => (0..3_u64).prop_map(Goes::IgnoredAfter),
        1 => Just(Goes::Hangs),
        1 => Just(Goes::Panics),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let which = prop_oneof![
        3 => Just(Which::Falls),
        1 => Just(Which::Settles),
        2 => Just(Which::Both),
    ];
    let parts = (
        which,
        0..40_u64,
        prop::option::weighted(0.3, 0..12_u64),
        prop::option::weighted(0.3, 0..12_u64),
        prop::array::uniform3(goes()),
        goes(),
    );
    parts.prop_map(|(which, comes, leaves, deadline, bodies, fallback)| Plan {
        which,
        comes,
        leaves,
        deadline,
        bodies,
        fallback,
    })
}

/// Closes it at each of the first, and reopens it so long after.
async fn operate(closings: Vec<(u64, u64)>) {
    for (after, closed) in closings {
        sleep(ms(after)).await;
        ATTEMPTS.close();
        sleep(ms(closed)).await;
        ATTEMPTS.reopen();
    }
}

fn compare(s: &Snapshot, outside: &Outside, plans: &[Plan]) {
    let Outside {
        inside,
        bodies,
        ended,
        fallbacks,
        answered,
    } = outside;
    assert_eq!(read(inside), 0, "a body is left");
    assert_nobody_is_left(s);
    assert_eq!(
        s.admitted,
        read(bodies),
        "each attempt that was admitted is a body that began"
    );
    // A call that its deadline stops, or its timeout, in the very instant in which its body ends is the library's.
    assert_eq!(s.outcomes.success, read(&ended.success), "{s:?}");
    assert_eq!(s.outcomes.failure, read(&ended.failure), "{s:?}");
    assert_eq!(s.outcomes.ignored, read(&ended.ignored), "{s:?}");
    assert_eq!(s.outcomes.panicked, read(&ended.panicked), "{s:?}");
    assert_eq!(
        s.fallbacks.answered + s.fallbacks.unanswered,
        read(fallbacks),
        "{s:?}"
    );
    assert_eq!(s.fallbacks.answered, read(answered), "{s:?}");
    let calls = u64::try_from(plans.len()).expect("few");
    assert_eq!(
        s.started,
        calls + s.retries.made + s.retries.rejected,
        "each call comes once, and each of its retries that is not given up"
    );
    let decided = s.retries.made + s.retries.rejected + s.retries.given_up;
    let firsts = s.admitted - s.retries.made;
    assert!(
        2 * decided <= firsts + 2 * 2,
        "{decided} retries for {firsts} calls"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_attempt_retry_and_fallback_is_accounted_for(
        plans in prop::collection::vec(plan(), 1..24),
        closings in prop::collection::vec((0..30_u64, 0..6_u64), 0..3),
    ) {
        panics_on_purpose_are_silent();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let _isolated = test::isolate();
        runtime.block_on(async {
            let all = Arc::new(Outside::default());
            let operator = tokio::spawn(operate(closings));
            let calls: Vec<_> = plans
                .iter()
                .map(|plan| {
                    let seen = Seen {
                        plan: plan.clone(),
                        bodies: AtomicU32::new(0),
                        all: Arc::clone(&all),
                    };
                    tokio::spawn(run(Arc::new(seen)))
                })
                .collect();
            for call in calls {
                call.await.expect("it does not panic");
            }
            operator.await.expect("it does not panic");
            // What settles may still run.
            sleep(ms(50)).await;
            compare(&ATTEMPTS.snapshot(), &all, &plans);
            ATTEMPTS.breaker().expect("it is declared").reset();
            assert_idle(&ATTEMPTS);
        });
    }
}
