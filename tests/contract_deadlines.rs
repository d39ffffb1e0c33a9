//! Deadlines of functions: what a body sees of them, and what is left behind.

mod common;

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, Deadline, Partition, Reason, bulkhead, partition};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep};

type Left = Result<Option<Duration>, BulkheadError>;

fn left() -> Option<Duration> {
    Deadline::current().map(|deadline| deadline.remaining())
}

fn find(name: &str) -> &'static Partition {
    partition(name).expect("it is declared")
}

/// The error of a call, and how long it took.
async fn fails_after<T>(
    call: impl Future<Output = Result<T, BulkheadError>>,
) -> (BulkheadError, Duration) {
    let start = Instant::now();
    let error = call.await.err().expect("it fails");
    (error, start.elapsed())
}

#[bulkhead(name = "contract-left", max = 8, deadline = 100ms, margin = 30ms)]
async fn own_and_margin() -> Left {
    Ok(left())
}

#[bulkhead(name = "contract-left-margin", max = 8, margin = 30ms)]
async fn margin_alone() -> Left {
    Ok(left())
}

#[bulkhead(name = "contract-left-deadline", max = 8, deadline = 100ms)]
async fn own_alone() -> Left {
    Ok(left())
}

#[tokio::test(start_paused = true)]
async fn the_body_sees_the_nearer_deadline_less_the_margin() {
    let under = |inherited: Option<u64>| {
        let deadline = inherited.map(|millis| Deadline::after(ms(millis)));
        async move {
            match deadline {
                None => [
                    own_and_margin().await,
                    margin_alone().await,
                    own_alone().await,
                ],
                Some(deadline) => [
                    deadline.scope(own_and_margin()).await,
                    deadline.scope(margin_alone()).await,
                    deadline.scope(own_alone()).await,
                ],
            }
            .map(|left| left.ok().flatten())
        }
    };
    for (inherited, expected) in [
        (None, [Some(ms(70)), None, Some(ms(100))]),
        (Some(1_000), [Some(ms(70)), Some(ms(970)), Some(ms(100))]),
        (Some(100), [Some(ms(70)), Some(ms(70)), Some(ms(100))]),
        (Some(60), [Some(ms(30)), Some(ms(30)), Some(ms(60))]),
        (Some(31), [Some(ms(1)), Some(ms(1)), Some(ms(31))]),
        // The margin is all that is left: rejected.
        (Some(30), [None, None, Some(ms(30))]),
        (Some(7), [None, None, Some(ms(7))]),
    ] {
        assert_eq!(under(inherited).await, expected, "{inherited:?}");
        assert_eq!(Deadline::current(), None, "it holds inside the call");
    }
    for name in ["contract-left", "contract-left-margin"] {
        let s = find(name).snapshot();
        assert_eq!((s.rejected.deadline, s.rejected.total()), (2, 2), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_caller_in_a_hurry_a_margin_alone_bounds_nothing() {
    #[bulkhead(name = "contract-margin-unbounded", max = 1, margin = 30ms)]
    async fn takes_a_day() -> Result<(), BulkheadError> {
        sleep(Duration::from_secs(86_400)).await;
        Ok(())
    }
    takes_a_day().await.expect("nobody said by when");
    let (error, after) = fails_after(Deadline::after(ms(100)).scope(takes_a_day())).await;
    assert_eq!((error.reason(), after), (Reason::DeadlineExceeded, ms(70)));
}

#[bulkhead(name = "contract-nested-outer", max = 2, deadline = 100ms, margin = 10ms)]
async fn outer(inner: impl Future<Output = Left>) -> Result<[Option<Duration>; 3], BulkheadError> {
    let before = left();
    let inside = inner.await?;
    Ok([before, inside, left()])
}

#[tokio::test(start_paused = true)]
async fn a_function_inside_can_only_narrow_the_deadline_and_only_for_itself() {
    #[bulkhead(name = "contract-nested-wide", max = 2, deadline = 10s)]
    async fn wide() -> Left {
        Ok(left())
    }
    #[bulkhead(name = "contract-nested-narrow", max = 2, deadline = 50ms, margin = 20ms)]
    async fn narrow() -> Left {
        Ok(left())
    }
    #[bulkhead(name = "contract-nested-margin", max = 2, margin = 20ms)]
    async fn margin() -> Left {
        Ok(left())
    }
    #[bulkhead(name = "contract-nested-plain", max = 2)]
    async fn plain() -> Left {
        Ok(left())
    }
    let of = |inside| [Some(ms(90)), Some(ms(inside)), Some(ms(90))];
    assert_eq!(outer(wide()).await.expect("in time"), of(90));
    assert_eq!(outer(narrow()).await.expect("in time"), of(30));
    assert_eq!(outer(margin()).await.expect("in time"), of(70));
    assert_eq!(outer(plain()).await.expect("in time"), of(90));
    // Time that has gone by outside is gone inside.
    let late = async {
        sleep(ms(75)).await;
        narrow().await
    };
    let (error, after) = fails_after(outer(late)).await;
    assert_eq!(
        (error.partition(), after),
        ("contract-nested-narrow", ms(75)),
        "15 ms are less than its margin"
    );
}

#[tokio::test(start_paused = true)]
async fn two_calls_side_by_side_do_not_see_each_others_deadline() {
    #[bulkhead(name = "contract-beside", max = 2, deadline = 50ms)]
    async fn near() -> Result<(), BulkheadError> {
        for _ in 0..4 {
            assert_eq!(left(), Some(ms(50)));
            yield_now().await;
        }
        sleep(ms(45)).await;
        assert_eq!(left(), Some(ms(5)));
        Ok(())
    }
    #[bulkhead(name = "contract-beside-far", max = 2, deadline = 80ms, margin = 5ms)]
    async fn far() -> Result<(), BulkheadError> {
        for _ in 0..4 {
            assert_eq!(left(), Some(ms(75)));
            yield_now().await;
        }
        sleep(ms(60)).await;
        assert_eq!(left(), Some(ms(15)), "later than the other's");
        Ok(())
    }
    let neither = async {
        for _ in 0..4 {
            assert_eq!(left(), None);
            yield_now().await;
        }
    };
    let (near, (), far) = tokio::join!(near(), neither, far());
    assert!(near.is_ok() && far.is_ok(), "both are in time");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_or_is_dropped_leaves_no_deadline_behind() {
    #[bulkhead(name = "contract-unwinds", max = 1, queue = 1, wait = 5ms, deadline = 50ms, breaker())]
    async fn ends_badly(panics: bool) -> Result<(), BulkheadError> {
        assert!(left().is_some(), "it has one");
        if panics {
            std::panic::panic_any(ON_PURPOSE.to_owned());
        }
        pending().await
    }
    panics_on_purpose_are_silent();
    let partition = find("contract-unwinds");
    for panics in [true, false] {
        let mut call = Box::pin(ends_badly(panics));
        let unwound = catch_unwind(AssertUnwindSafe(|| poll_once(call.as_mut()).is_pending()));
        assert_eq!(unwound.is_err(), panics);
        assert_eq!(Deadline::current(), None);
        drop(call);
        assert_eq!(Deadline::current(), None);
    }
    let outcomes = partition.snapshot().outcomes;
    assert_eq!((outcomes.panicked, outcomes.cancelled), (1, 1));
    // Nor is it left among those who hold a permit: a call now waits, and has no deadline but its own.
    let held = partition.try_enter().expect("it is free");
    let mut waits = pin!(ends_badly(false));
    assert!(poll_once(waits.as_mut()).is_pending());
    assert_eq!(partition.snapshot().waiting, 1);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_future_that_was_made_in_a_scope_and_is_polled_outside_has_none() {
    let deadline = Deadline::after(ms(10));
    let made = deadline
        .scope(async { (margin_alone(), own_alone()) })
        .await;
    assert_eq!(made.0.await.expect("there is room"), None);
    assert_eq!(made.1.await.expect("there is room"), Some(ms(100)));
    // The other way round: one that is polled inside has it, wherever it was made.
    let made = own_alone();
    advance(ms(5)).await;
    assert_eq!(
        deadline.scope(made).await.expect("there is time"),
        Some(ms(5))
    );
}

/// Calls, failures and slow calls in the window of the breaker of its only function.
fn seen(partition: &Partition) -> (u64, u64, u64) {
    let breaker = partition.breakers().next().expect("that of the function");
    let seen = breaker.snapshot();
    (seen.calls, seen.failures, seen.slow)
}

/// Notes, when it is dropped, how many permits are out.
struct Argument<'n>(&'n mut Vec<u64>);

impl Drop for Argument<'_> {
    fn drop(&mut self) {
        self.0.push(find("contract-argument").snapshot().in_flight);
    }
}

#[derive(Clone, Copy)]
enum How {
    Works,
    Panics,
    Hangs,
}

#[bulkhead(name = "contract-argument", max = 2, queue = 1, wait = 5ms, deadline = 50ms, breaker(min_calls = 100))]
async fn holds(argument: Argument<'_>, how: How) -> Result<(), BulkheadError> {
    match how {
        How::Works => yield_now().await,
        How::Panics => std::panic::panic_any(ON_PURPOSE.to_owned()),
        How::Hangs => pending().await,
    }
    drop(argument);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_a_body_holds_is_gone_before_its_permit_is_back() {
    panics_on_purpose_are_silent();
    let mut notes = Vec::new();
    holds(Argument(&mut notes), How::Works)
        .await
        .expect("it works");
    let mut panics = Box::pin(holds(Argument(&mut notes), How::Panics));
    let unwound = AssertUnwindSafe(|| poll_once(panics.as_mut()).is_ready());
    catch_unwind(unwound).expect_err("it panics");
    drop(panics);
    let late = holds(Argument(&mut notes), How::Hangs).await;
    assert_eq!(
        late.expect_err("it hangs").reason(),
        Reason::DeadlineExceeded
    );
    let mut left = Box::pin(holds(Argument(&mut notes), How::Hangs));
    assert!(poll_once(left.as_mut()).is_pending());
    drop(left);
    assert_eq!(notes, [1; 4]);
    assert_eq!(seen(find("contract-argument")), (3, 2, 0));
    assert_idle(find("contract-argument"));
}
