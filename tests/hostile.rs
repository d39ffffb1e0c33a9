//! Code that is not ours and does its worst: destructors, wakers, conversions and formatters.

mod common;

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bulkhead_runtime::{BulkheadError, Partition, Reason, Verdict, bulkhead, partition};
use common::{
    ON_PURPOSE, Woken, assert_idle, ms, panics_on_purpose_are_silent, plain, poll_once, queued,
};
use tokio::time::advance;

/// Panics when it is dropped, unless a panic is on its way already.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "{ON_PURPOSE}");
    }
}

/// Looks, when it is dropped, how many are in flight.
struct Connection {
    of: &'static Partition,
    seen: Arc<AtomicU64>,
}

impl Connection {
    fn of(partition: &'static Partition) -> (Self, Arc<AtomicU64>) {
        let seen = Arc::new(AtomicU64::new(u64::MAX));
        (
            Self {
                of: partition,
                seen: Arc::clone(&seen),
            },
            seen,
        )
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.seen
            .store(self.of.snapshot().in_flight, Ordering::SeqCst);
    }
}

/// A future that somebody wrote by hand: what it holds, it holds until it is dropped.
struct Handwritten {
    _connection: Connection,
    ends: Poll<()>,
}

impl Future for Handwritten {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.ends
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_destructor_panics_at_its_timeout_gives_its_permit_back() {
    panics_on_purpose_are_silent();
    let partition = plain("destructor-panics", 1);
    let hangs = async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
    };
    let mut call = Box::pin(partition.call(hangs).timeout(ms(5)));
    assert!(poll_once(call.as_mut()).is_pending());
    advance(ms(5)).await;
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()).is_ready()));
    assert!(polled.is_err(), "the panic is the caller's");
    let s = partition.snapshot();
    assert_eq!(
        (s.in_flight, s.outcomes.timed_out, s.outcomes.panicked),
        (0, 1, 0)
    );
    let again = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()).is_ready()));
    assert!(again.is_err(), "polled after its end");
    drop(call);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn what_a_waker_throws_strands_nobody() {
    struct Throws;
    impl Wake for Throws {
        fn wake(self: Arc<Self>) {
            panic_any(Bomb);
        }
    }
    panics_on_purpose_are_silent();
    let partition = queued("throwing-waker", 1, 5, ms(1_000));
    let held = partition.try_enter().unwrap();
    let hostile: Waker = Arc::new(Throws).into();
    let mut first = Box::pin(partition.enter());
    assert!(
        first
            .as_mut()
            .poll(&mut Context::from_waker(&hostile))
            .is_pending()
    );
    let (woken, waker) = Woken::new();
    let mut others = [(); 3].map(|()| Box::pin(partition.enter()));
    for other in &mut others {
        assert!(
            other
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    partition.resize(5).unwrap();
    assert_eq!((woken.times(), partition.snapshot().granted), (3, 4));
    drop((held, first, others));
    partition.resize(1).unwrap();
    assert_idle(partition);
}

#[test]
fn showing_a_permit_takes_no_lock_and_little_space() {
    struct Looks(&'static Partition, String);
    impl Write for Looks {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let _counts = self.0.snapshot();
            self.1.push_str(text);
            Ok(())
        }
    }
    let partition = plain("shown", 1);
    let permit = partition.try_enter().unwrap();
    let enter = partition.enter();
    let mut looks = Looks(partition, String::new());
    write!(looks, "{permit:?} {enter:?} {partition:?}").unwrap();
    assert!(looks.1.len() < 800, "{}", looks.1);
}

#[test]
fn work_that_a_runtime_drops_unrun_is_gone_before_its_permit_is_free() {
    panics_on_purpose_are_silent();
    let partition = plain("dropped-unrun", 1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let _context = handle.enter();
    let (connection, seen) = Connection::of(partition);
    let mut call = Box::pin(partition.run_blocking(move || drop(connection)));
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()).is_ready()));
    let text = polled.unwrap_err().downcast_ref::<String>().cloned();
    assert_eq!(
        text.as_deref(),
        Some("the runtime shut down before the work of `dropped-unrun` began")
    );
    assert_eq!(
        seen.load(Ordering::SeqCst),
        1,
        "in flight when the work was dropped"
    );
    assert_eq!(partition.snapshot().outcomes.cancelled, 1);
    assert_idle(partition);
}

fn panicking_conversion(_: BulkheadError) -> String {
    panic!("{ON_PURPOSE}")
}

fn panicking_verdict(_: &Result<(), String>) -> Verdict {
    panic!("{ON_PURPOSE}")
}

#[bulkhead(name = "foreign-functions", max = 1, reject = panicking_conversion, classify = panicking_verdict)]
async fn foreign_functions() -> Result<(), String> {
    Ok(())
}

#[tokio::test]
async fn a_panic_in_reject_or_classify_loses_no_permit() {
    panics_on_purpose_are_silent();
    let partition = partition("foreign-functions").unwrap();
    assert!(
        tokio::spawn(foreign_functions())
            .await
            .unwrap_err()
            .is_panic()
    );
    assert_eq!(
        partition.snapshot().outcomes.panicked,
        1,
        "`classify` looked at the permit's call"
    );
    let held = partition.try_enter().unwrap();
    assert!(
        tokio::spawn(foreign_functions())
            .await
            .unwrap_err()
            .is_panic()
    );
    assert_eq!(partition.snapshot().rejected.full, 1);
    drop(held);
    assert_idle(partition);
}

#[bulkhead(name = "holds-connection", max = 1)]
async fn holds(connection: Connection) -> Result<(), BulkheadError> {
    let _connection = connection;
    std::future::pending().await
}

#[tokio::test]
async fn under_the_attribute_a_cancelled_body_is_gone_before_its_permit_is_free() {
    let (connection, seen) = Connection::of(partition("holds-connection").unwrap());
    let mut call = Box::pin(holds(connection));
    assert!(poll_once(call.as_mut()).is_pending());
    drop(call);
    assert_eq!(
        seen.load(Ordering::SeqCst),
        1,
        "in flight when the body was dropped"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handwritten_future_is_gone_before_its_permit_is_free_however_it_ends() {
    let partition = plain("handwritten", 1);
    let handwritten = |ends| {
        let (connection, seen) = Connection::of(partition);
        (
            partition.call(Handwritten {
                _connection: connection,
                ends,
            }),
            seen,
        )
    };
    let (ready, seen) = handwritten(Poll::Ready(()));
    let mut ready = Box::pin(ready);
    assert!(poll_once(ready.as_mut()).is_ready());
    assert_eq!(
        seen.load(Ordering::SeqCst),
        1,
        "it ended, and its future lives on"
    );

    let (hangs, seen) = handwritten(Poll::Pending);
    hangs.timeout(ms(5)).await.unwrap_err();
    assert_eq!(seen.load(Ordering::SeqCst), 1, "it timed out");

    let (hangs, seen) = handwritten(Poll::Pending);
    let mut hangs = Box::pin(hangs);
    assert!(poll_once(hangs.as_mut()).is_pending());
    drop(hangs);
    assert_eq!(seen.load(Ordering::SeqCst), 1, "it was cancelled");
}

#[tokio::test]
async fn a_rejected_call_drops_its_future_at_once() {
    let partition = plain("rejected-future", 1);
    let _held = partition.try_enter().unwrap();
    let (connection, seen) = Connection::of(partition);
    let mut call = Box::pin(partition.call(Handwritten {
        _connection: connection,
        ends: Poll::Pending,
    }));
    let Poll::Ready(Err(error)) = poll_once(call.as_mut()) else {
        panic!("full")
    };
    assert_eq!(error.reason(), Reason::Full);
    assert_eq!(
        seen.load(Ordering::SeqCst),
        1,
        "dropped, although the call lives on"
    );
}

#[tokio::test]
async fn what_a_body_returned_is_not_lost_when_its_destructor_panics() {
    struct ReturnsAPermit(&'static Partition, Option<Bomb>);
    impl Future for ReturnsAPermit {
        type Output = Result<bulkhead_runtime::Permit<'static>, BulkheadError>;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            assert!(self.1.is_some(), "the bomb is still there");
            Poll::Ready(self.0.try_enter())
        }
    }
    panics_on_purpose_are_silent();
    let (outer, inner) = (plain("returns-outer", 1), plain("returns-inner", 1));
    let mut call = Box::pin(outer.call(ReturnsAPermit(inner, Some(Bomb))));
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()).is_ready()));
    assert!(polled.is_err(), "the panic is the caller's");
    drop(call);
    assert_eq!(outer.snapshot().outcomes.panicked, 1);
    assert_idle(outer);
    assert_idle(inner);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_clock_is_only_a_very_long_time() {
    let mut end = tokio::time::Instant::now();
    let mut step = std::time::Duration::from_secs(1 << 62);
    while step > std::time::Duration::from_nanos(1) {
        end = end.checked_add(step).unwrap_or(end);
        step /= 2;
    }
    let partition = queued("end-of-the-clock", 1, 1, ms(5));
    let held = partition.try_enter().unwrap();
    let mut waits = Box::pin(partition.enter_by(end));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    drop(waits);
    let mut runs = Box::pin(
        partition
            .call(std::future::pending::<()>())
            .timeout(end - tokio::time::Instant::now()),
    );
    assert!(poll_once(runs.as_mut()).is_pending());
    drop(runs);
    assert_idle(partition);
}
