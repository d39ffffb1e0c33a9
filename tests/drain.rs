//! Draining: nobody new comes in, what is under way comes to its end, and what is left is counted.

mod common;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use bulkhead_runtime::{
    BulkheadError, BulkheadLayer, Deadline, Drained, Event, Mode, Partition, Reason, bulkhead,
    drain_all, partition, register, spawn, subscribe, test,
};
use common::{
    ON_PURPOSE, Woken, assert_accounts_for, assert_idle, hangs_or_not, ms,
    panics_on_purpose_are_silent, plain, poll_once, queued,
};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, advance, sleep};
use tower::{Layer, ServiceExt, service_fn};

type Ends = Result<(), BulkheadError>;

/// How a call ended, for those that were to be turned away.
fn reason(ends: Ends) -> Option<Reason> {
    ends.err().map(|error| error.reason())
}

async fn enter(partition: &Partition) -> Ends {
    partition.call(async {}).await
}

/// A task that holds a permit until `body` has ended.
async fn under_way<F>(
    partition: &'static Partition,
    body: F,
) -> JoinHandle<Result<F::Output, BulkheadError>>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let before = partition.snapshot().in_flight;
    let task = tokio::spawn(partition.call(body));
    yield_now().await;
    assert_eq!(
        partition.snapshot().in_flight,
        before + 1,
        "it is under way"
    );
    task
}

/// How often it was told on this thread that a partition was closed: tests that drain all do so with states of their
/// own, and are heard as well.
fn count_closed(name: &'static str) -> Arc<AtomicU64> {
    let told = Arc::new(AtomicU64::new(0));
    subscribe({
        let (told, here) = (Arc::clone(&told), thread::current().id());
        move |event: &Event<'_>| {
            if matches!(event, Event::Closed { .. })
                && event.partition().name() == name
                && thread::current().id() == here
            {
                told.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    told
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_hang_on_a_call_that_hangs() {
    let partition = queued("drain-hangs", 2, 2, ms(60_000));
    let told = count_closed("drain-hangs");
    let ends = under_way(partition, sleep(ms(1_000))).await;
    let hangs = under_way(partition, pending::<()>()).await;
    let waits = tokio::spawn(partition.call(async {}));
    yield_now().await;
    assert_eq!(partition.snapshot().waiting, 1);

    let start = Instant::now();
    let drain = partition.drain(Duration::from_secs(3));
    assert_eq!(
        reason(enter(partition).await),
        Some(Reason::Closed),
        "before it is polled"
    );
    assert_eq!(reason(waits.await.unwrap()), Some(Reason::Closed));
    let s = partition.snapshot();
    assert!(s.is_closed && s.is_draining);

    let drained = drain.await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(drained.took(), Duration::from_secs(3));
    assert!(!drained.is_complete());
    let [left] = drained.left() else {
        panic!("{drained}")
    };
    assert_eq!((left.in_flight, left.waiting, left.since), (1, 0, start));
    assert!(std::ptr::eq(left.partition, partition));
    assert_eq!(
        drained.to_string(),
        "1 call left after 3s: `drain-hangs`: 1 in flight, closed for 3s"
    );
    ends.await.unwrap().expect("it came to its end");
    assert_accounts_for(partition, 4, 2);

    let second = partition.drain(Duration::from_secs(2)).await;
    assert_eq!(
        second.to_string(),
        "1 call left after 2s: `drain-hangs`: 1 in flight, closed for 5s",
        "since the first"
    );
    assert_accounts_for(partition, 4, 2);
    assert_eq!(told.load(Ordering::SeqCst), 1, "a second drain is none");

    hangs.abort();
    assert!(hangs.await.unwrap_err().is_cancelled());
    let third = partition.drain(Duration::from_secs(3)).await;
    assert!(third.is_complete(), "{third}");
    assert_eq!(third.to_string(), "drained in 0ms");
    partition.reopen();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_while_it_drains_is_rejected_as_closed_and_counted() {
    let partition = queued("drain-newcomers", 3, 1, ms(50));
    let under_way = under_way(partition, sleep(ms(100))).await;
    let drain = tokio::spawn(partition.drain(Duration::from_secs(3)));
    yield_now().await;
    assert_eq!(reason(enter(partition).await), Some(Reason::Closed));
    assert_eq!(partition.try_enter().unwrap_err().reason(), Reason::Closed);
    assert_eq!(
        partition.enter().await.unwrap_err().reason(),
        Reason::Closed
    );
    let by = Instant::now() + ms(10);
    assert_eq!(
        partition.enter_by(by).await.unwrap_err().reason(),
        Reason::Closed
    );
    let under_a_deadline = Deadline::after(ms(10)).scope(enter(partition)).await;
    assert_eq!(reason(under_a_deadline), Some(Reason::Closed));
    let blocking = partition.run_blocking(|| ()).await;
    assert_eq!(reason(blocking), Some(Reason::Closed));
    let drained = drain.await.unwrap();
    assert_eq!((drained.is_complete(), drained.took()), (true, ms(100)));
    under_way.await.unwrap().unwrap();
    assert_accounts_for(partition, 7, 6);
    partition.reopen();
    assert_idle(partition);
}

#[partition(name = "drain-inner", max = 1)]
static INNER: Partition;

#[partition(name = "drain-inner-queue", max = 1, queue = 1, wait = 50ms)]
static INNER_QUEUE: Partition;

#[bulkhead(INNER)]
async fn plainly() -> Ends {
    yield_now().await;
    Ok(())
}

#[bulkhead(INNER_QUEUE, timeout = 1s)]
async fn timed() -> Ends {
    yield_now().await;
    Ok(())
}

#[bulkhead(INNER_QUEUE, timeout = 1s, deadline = 2s, breaker())]
async fn contracted() -> Ends {
    yield_now().await;
    Ok(())
}

#[bulkhead(INNER, deadline = 2s, breaker())]
async fn calm() -> Ends {
    yield_now().await;
    Ok(())
}

async fn layered() -> Ends {
    let layer = BulkheadLayer::new(&INNER).as_error();
    let service = service_fn(|()| async { Ok::<_, tower::BoxError>(()) });
    let answered = layer.layer(service).oneshot(()).await;
    answered.map_err(|error| *error.downcast::<BulkheadError>().expect("it is ours"))
}

type Nested = (
    &'static str,
    fn() -> Pin<Box<dyn Future<Output = Ends> + Send>>,
);

/// Every way to call.
const NESTED: [Nested; 8] = [
    ("a plain function", || Box::pin(plainly())),
    ("a function with a timeout", || Box::pin(timed())),
    ("a function with a contract", || Box::pin(contracted())),
    ("a function that needs no clock", || Box::pin(calm())),
    ("a future", || Box::pin(enter(&INNER))),
    ("a permit by hand", || {
        Box::pin(async { INNER.enter().await.map(drop) })
    }),
    ("a permit at once", || {
        Box::pin(async { INNER.try_enter().map(drop) })
    }),
    ("a layer", || Box::pin(layered())),
];

#[bulkhead(name = "drain-request", max = 4)]
async fn request<F: Future<Output = Ends>>(inside: impl FnOnce() -> F) -> Ends {
    sleep(ms(10)).await;
    inside().await
}

/// A request that calls on while all partitions drain.
async fn while_it_drains<F>(inside: impl FnOnce() -> F + Send + 'static) -> (Ends, Drained)
where
    F: Future<Output = Ends> + Send + 'static,
{
    let request = tokio::spawn(request(inside));
    yield_now().await;
    let drained = drain_all(Duration::from_secs(3)).await;
    (request.await.expect("no panic"), drained)
}

#[tokio::test(start_paused = true)]
async fn a_request_under_way_can_make_its_calls_while_it_drains() {
    for (what, call) in NESTED {
        let _isolated = test::isolate();
        let (ends, drained) = while_it_drains(call).await;
        assert_eq!(reason(ends), None, "{what}");
        assert!(drained.is_complete(), "{what}: {drained}");
        assert_eq!(
            reason(call().await),
            Some(Reason::Closed),
            "outside: {what}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn so_can_a_task_that_works_for_it_and_a_task_of_its_own_cannot() {
    for (what, call) in NESTED {
        let _isolated = test::isolate();
        let spawned = move || async move {
            let task = spawn(async move { spawn(call()).await.expect("no panic") });
            task.await.expect("no panic")
        };
        let (ends, _) = while_it_drains(spawned).await;
        assert_eq!(reason(ends), None, "{what}");

        let _isolated = test::isolate();
        let plainly_spawned = move || async move { tokio::spawn(call()).await.expect("no panic") };
        let (ends, _) = while_it_drains(plainly_spawned).await;
        assert_eq!(reason(ends), Some(Reason::Closed), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_inside_for_its_whole_life_and_waited_for_while_it_calls() {
    let _isolated = test::isolate();
    let (late, is_late) = tokio::sync::oneshot::channel();
    let outlives = || async move {
        drop(spawn(async move {
            let called = INNER.call(sleep(ms(500))).await;
            late.send(called).expect("somebody waits for it");
        }));
        // The task comes to its call first.
        sleep(ms(1)).await;
        Ok(())
    };
    let (ends, drained) = while_it_drains(outlives).await;
    assert_eq!(reason(ends), None);
    assert_eq!(drained.took(), ms(510), "{drained}");
    assert_eq!(reason(is_late.await.expect("it is sent")), None);
}

#[bulkhead(name = "drain-around", max = 1)]
async fn around<F: Future<Output = Ends>>(inside: F) -> Ends {
    inside.await
}

#[bulkhead(name = "drain-around-timed", max = 1, timeout = 1s)]
async fn around_timed<F: Future<Output = Ends>>(inside: F) -> Ends {
    inside.await
}

#[bulkhead(name = "drain-around-contract", max = 1, queue = 1, wait = 5ms, timeout = 1s, deadline = 2s, breaker())]
async fn around_contract<F: Future<Output = Ends>>(inside: F) -> Ends {
    inside.await
}

#[bulkhead(name = "drain-around-calm", max = 1, deadline = 2s, breaker())]
async fn around_calm<F: Future<Output = Ends>>(inside: F) -> Ends {
    inside.await
}

#[tokio::test(start_paused = true)]
async fn what_is_called_inside_of_any_kind_of_call_is_let_in_and_what_is_beside_it_is_not() {
    let inner = plain("drain-inside-any", 1);
    let outer = plain("drain-around-any", 1);
    drop(inner.drain(Duration::ZERO));
    let enter = || inner.try_enter().map(drop);
    // In the first poll of the call around it, and in the second.
    let inside = || async {
        enter()?;
        yield_now().await;
        enter()
    };
    assert_eq!(reason(around(inside()).await), None, "a plain function");
    assert_eq!(reason(around_timed(inside()).await), None, "with a timeout");
    assert_eq!(
        reason(around_contract(inside()).await),
        None,
        "with a contract"
    );
    assert_eq!(
        reason(around_calm(inside()).await),
        None,
        "with a calm breaker"
    );
    assert_eq!(
        reason(outer.call(inside()).await.unwrap()),
        None,
        "a future"
    );

    let service = service_fn(|()| async { Ok::<_, tower::BoxError>(inside().await) });
    let layer = BulkheadLayer::new(outer).as_error();
    let answered = layer.layer(service).oneshot(()).await;
    assert_eq!(reason(answered.unwrap()), None, "a service behind a layer");

    let worked = outer
        .run_blocking(move || inner.try_enter().map(drop))
        .await
        .unwrap();
    assert_eq!(reason(worked), None, "blocking work");
    let apart = tokio::task::spawn_blocking(move || inner.try_enter().map(drop))
        .await
        .unwrap();
    assert_eq!(
        reason(apart),
        Some(Reason::Closed),
        "on its thread, after it"
    );

    let by_hand = outer.try_enter().unwrap();
    assert_eq!(
        reason(enter()),
        Some(Reason::Closed),
        "beside a permit that is held by hand"
    );
    drop(by_hand);

    panics_on_purpose_are_silent();
    let panics = outer.call(async { std::panic::panic_any(ON_PURPOSE.to_owned()) });
    let mut panics = pin!(panics);
    std::panic::catch_unwind(AssertUnwindSafe(|| poll_once(panics.as_mut()).is_ready()))
        .unwrap_err();
    assert_eq!(reason(enter()), Some(Reason::Closed), "after a panic");
    let mut parked = pin!(outer.call(pending::<()>()));
    assert!(poll_once(parked.as_mut()).is_pending());
    assert_eq!(reason(enter()), Some(Reason::Closed), "between two polls");
}

/// A body that calls on when it is read.
struct Calls(&'static Partition, bool);

impl http_body::Body for Calls {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let said = format!("{:?}", reason(self.0.try_enter().map(drop)));
        let is_over = std::mem::replace(&mut self.1, true);
        Poll::Ready((!is_over).then(|| Ok(http_body::Frame::data(said.into()))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_keeps_its_permit_can_make_its_calls_while_it_is_read() {
    let inner = plain("drain-until-body-inner", 1);
    let outer = plain("drain-until-body", 1);
    let service = service_fn(|_: Request<Body>| async move {
        Ok::<_, Infallible>(Response::new(Body::new(Calls(inner, false))))
    });
    let layer = BulkheadLayer::new(outer).until_body(Duration::from_secs(5));
    let response = layer
        .layer(service)
        .oneshot(Request::new(Body::empty()))
        .await
        .unwrap();
    drop(inner.drain(Duration::ZERO));
    let drain = tokio::spawn(outer.drain(Duration::from_secs(3)));
    yield_now().await;
    let read = axum::body::to_bytes(Body::new(response.into_body()), 99)
        .await
        .unwrap();
    assert_eq!(read, "None", "it was not rejected");
    assert!(drain.await.unwrap().is_complete());
}

#[tokio::test(start_paused = true)]
async fn what_an_observer_does_is_not_inside_of_what_it_is_told_of() {
    let told = plain("drain-observed", 1);
    let drains = plain("drain-observer", 1);
    drop(drains.drain(Duration::ZERO));
    let entered = Arc::new(AtomicU64::new(0));
    subscribe({
        let entered = Arc::clone(&entered);
        move |event: &Event<'_>| {
            if matches!(event, Event::Rejected { .. })
                && event.partition().name() == "drain-observed"
            {
                let added = if drains.try_enter().is_ok() { 100 } else { 1 };
                entered.fetch_add(added, Ordering::SeqCst);
            }
        }
    });
    let rejected = told
        .call(async { told.try_enter().map(drop) })
        .await
        .unwrap();
    assert_eq!(reason(rejected), Some(Reason::Full));
    assert_eq!(entered.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_outside_are_turned_away_and_one_inside_gets_its_permit_in_time() {
    let partition = queued("drain-waiters", 1, 3, ms(1_000));
    let outer = plain("drain-waiters-around", 1);
    let holds = under_way(partition, sleep(ms(100))).await;
    let first = tokio::spawn(partition.call(async {}));
    yield_now().await;
    let inside = under_way(outer, async { enter(partition).await }).await;
    let last = tokio::spawn(partition.call(async {}));
    yield_now().await;
    assert_eq!(partition.snapshot().waiting, 3);

    let start = Instant::now();
    let drains =
        [outer, partition].map(|partition| tokio::spawn(partition.drain(Duration::from_secs(3))));
    for outside in [first, last] {
        assert_eq!(reason(outside.await.unwrap()), Some(Reason::Closed));
    }
    assert_eq!(start.elapsed(), Duration::ZERO, "nobody waits for that");
    assert_eq!(partition.snapshot().waiting, 1);
    inside
        .await
        .unwrap()
        .unwrap()
        .expect("it waited for its turn");
    assert_eq!(start.elapsed(), ms(100));
    for drain in drains {
        assert_eq!(drain.await.unwrap().took(), ms(100));
    }
    holds.await.unwrap().unwrap();
    assert_accounts_for(partition, 4, 2);
    partition.reopen();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn one_inside_that_comes_while_it_drains_waits_as_before() {
    let partition = queued("drain-waits-late", 1, 1, ms(1_000));
    let outer = plain("drain-waits-late-around", 2);
    let holds = under_way(partition, sleep(ms(100))).await;
    drop(partition.drain(Duration::ZERO));
    let inside = under_way(outer, async { enter(partition).await }).await;
    let second = outer.call(async { enter(partition).await }).await;
    assert_eq!(
        reason(second.unwrap()),
        Some(Reason::Full),
        "the queue has its bound"
    );
    let left = partition.drain(Duration::ZERO).await;
    assert_eq!(
        left.to_string(),
        "2 calls left after 0ms: `drain-waits-late`: 1 in flight and 1 waiting, closed for 0ms"
    );
    // Closed for good, it is turned away as well.
    partition.close();
    assert!(!partition.snapshot().is_draining);
    assert_eq!(reason(inside.await.unwrap().unwrap()), Some(Reason::Closed));
    holds.await.unwrap().unwrap();
    assert_accounts_for(partition, 3, 1);
}

/// How long a drain takes that begins now.
async fn drain_takes(partition: &'static Partition) -> Duration {
    let drained = partition.drain(Duration::from_secs(3_600)).await;
    assert!(drained.is_complete(), "{drained}");
    partition.reopen();
    drained.took()
}

#[tokio::test(start_paused = true)]
async fn it_is_over_the_moment_the_last_one_ends_however_that_ends() {
    let partition = plain("drain-ends", 4);
    panics_on_purpose_are_silent();
    assert_eq!(
        drain_takes(partition).await,
        Duration::ZERO,
        "nothing is under way"
    );

    let returns = [ms(20), ms(10), ms(30)].map(sleep);
    for body in returns {
        under_way(partition, body).await;
    }
    assert_eq!(
        drain_takes(partition).await,
        ms(30),
        "the last of them returns"
    );

    let panics = async {
        sleep(ms(10)).await;
        std::panic::panic_any(ON_PURPOSE.to_owned())
    };
    let panics =
        under_way::<Pin<Box<dyn Future<Output = ()> + Send>>>(partition, Box::pin(panics)).await;
    assert_eq!(drain_takes(partition).await, ms(10), "it panics");
    assert!(panics.await.unwrap_err().is_panic());

    let timed_out = tokio::spawn(partition.call(pending::<()>()).timeout(ms(10)));
    yield_now().await;
    assert_eq!(drain_takes(partition).await, ms(10), "it runs out of time");
    assert_eq!(reason(timed_out.await.unwrap()), Some(Reason::CallTimeout));

    let cancelled = under_way(partition, pending::<()>()).await;
    tokio::spawn(async move {
        sleep(ms(10)).await;
        cancelled.abort();
    });
    assert_eq!(drain_takes(partition).await, ms(10), "its caller leaves");

    let by_hand = partition.try_enter().unwrap();
    tokio::spawn(async move {
        sleep(ms(10)).await;
        drop(by_hand);
    });
    assert_eq!(
        drain_takes(partition).await,
        ms(10),
        "its permit is dropped"
    );

    let s = partition.snapshot();
    let ends = s.outcomes;
    assert_eq!(
        (ends.success, ends.panicked, ends.timed_out, ends.cancelled),
        (4, 1, 1, 1)
    );
    assert_accounts_for(partition, 7, 0);
    assert_idle(partition);
}

#[tokio::test]
async fn it_is_over_when_blocking_work_is_done_whose_caller_has_left() {
    let partition = plain("drain-blocking", 1);
    let (go, wait) = mpsc::channel::<()>();
    let mut work = Box::pin(partition.run_blocking(move || wait.recv()));
    assert!(poll_once(work.as_mut()).is_pending());
    drop(work);
    let drained = partition.drain(ms(1)).await;
    assert_eq!(drained.left()[0].in_flight, 1, "{drained}");
    let drain = tokio::spawn(partition.drain(Duration::from_secs(20)));
    yield_now().await;
    go.send(()).expect("it waits");
    assert!(drain.await.unwrap().is_complete());
    partition.reopen();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_dropped_leaves_it_closed_and_is_forgotten() {
    let partition = plain("drain-dropped", 1);
    let permit = partition.try_enter().unwrap();
    let (woken, waker) = Woken::new();
    let (other, other_waker) = Woken::new();
    let mut dropped = Box::pin(partition.drain(Duration::from_secs(3)));
    let mut kept = Box::pin(partition.drain(Duration::from_secs(3)));
    assert!(
        dropped
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(
        kept.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    // Moved to another task.
    assert!(
        kept.as_mut()
            .poll(&mut Context::from_waker(&other_waker))
            .is_pending()
    );
    drop(dropped);
    assert_eq!(reason(enter(partition).await), Some(Reason::Closed));
    // Another test may be about to wake all that wait.
    let is_forgotten = || {
        thread::sleep(ms(1));
        Arc::strong_count(&woken) == 2
    };
    assert!(
        (0..5_000).any(|_| is_forgotten()),
        "it keeps the waker of one that is gone, or of one that has another"
    );
    drop(permit);
    assert!(other.times() > 0);
    assert!(kept.await.is_complete());
    partition.reopen();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn closed_for_all_it_only_waits_and_lets_nobody_in() {
    let partition = plain("drain-closed", 2);
    let outer = plain("drain-closed-around", 1);
    let told = count_closed("drain-closed");
    let under_way = under_way(partition, sleep(ms(100))).await;
    let start = Instant::now();
    partition.close();
    advance(ms(50)).await;
    let drain = tokio::spawn(partition.drain(Duration::from_secs(3)));
    yield_now().await;
    let s = partition.snapshot();
    assert!(s.is_closed && !s.is_draining);
    let nested = outer.call(async { enter(partition).await }).await.unwrap();
    assert_eq!(reason(nested), Some(Reason::Closed));
    let left = partition.drain(Duration::ZERO).await;
    assert_eq!(left.left()[0].since, start, "of the close");
    let drained = drain.await.unwrap();
    assert_eq!((drained.is_complete(), drained.took()), (true, ms(50)));
    assert_eq!(told.load(Ordering::SeqCst), 1);
    under_way.await.unwrap().unwrap();
    partition.reopen();
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn closing_it_while_it_drains_is_closing_it_for_all_and_told_once() {
    let partition = plain("drain-then-close", 2);
    let outer = plain("drain-then-close-around", 1);
    let told = count_closed("drain-then-close");
    drop(partition.drain(Duration::ZERO));
    let nested = || outer.call(async { enter(partition).await });
    nested().await.unwrap().expect("it is inside");
    partition.close();
    assert_eq!(reason(nested().await.unwrap()), Some(Reason::Closed));
    assert_eq!(told.load(Ordering::SeqCst), 1);

    partition.reopen();
    let s = partition.snapshot();
    assert!(!s.is_closed && !s.is_draining);
    enter(partition).await.expect("it is open");
    advance(ms(10)).await;
    let again = Instant::now();
    let permit = partition.try_enter().unwrap();
    let drained = partition.drain(ms(5)).await;
    assert_eq!(drained.left()[0].since, again, "of this drain");
    assert_eq!(told.load(Ordering::SeqCst), 2);
    nested()
        .await
        .unwrap()
        .expect("it drains, as if nothing had been before");
    drop(permit);
    assert_accounts_for(partition, 5, 1);
}

#[tokio::test(start_paused = true)]
async fn reopening_it_ends_a_drain_at_once_which_tells_what_is_under_way() {
    let partition = plain("drain-reopened", 2);
    let under_way = under_way(partition, pending::<()>()).await;
    let drain = tokio::spawn(partition.drain(Duration::from_secs(3)));
    advance(ms(10)).await;
    yield_now().await;
    partition.reopen();
    let drained = drain.await.unwrap();
    assert_eq!(drained.took(), ms(10));
    assert_eq!((drained.left().len(), drained.left()[0].in_flight), (1, 1));
    enter(partition).await.expect("it is open");
    under_way.abort();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_closes_all_at_once_and_waits_for_all_at_the_same_time() {
    let _isolated = test::isolate();
    let partitions = ["drain-all-b", "drain-all-a", "drain-all-c"].map(|name| plain(name, 2));
    let [b, a, c] = partitions;
    let mut hang = Vec::new();
    for (partition, body) in [(b, pending::<()>()), (a, pending()), (a, pending())] {
        hang.push(under_way(partition, body).await);
    }
    let ends = under_way(c, sleep(ms(2_000))).await;
    let drained = drain_all(Instant::now() + Duration::from_secs(3)).await;
    assert_eq!(
        drained.to_string(),
        "3 calls left after 3s: `drain-all-a`: 2 in flight, closed for 3s; `drain-all-b`: 1 in flight, closed for 3s"
    );
    ends.await.unwrap().unwrap();
    for partition in bulkhead_runtime::partitions() {
        assert!(partition.snapshot().is_draining, "{partition:?}");
    }
    hang.iter().for_each(JoinHandle::abort);
    let drained = drain_all(Deadline::after(Duration::from_secs(3))).await;
    assert!(drained.is_complete(), "{drained}");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_made_while_all_drain_drains_too_and_is_waited_for() {
    let _isolated = test::isolate();
    let outer = plain("drain-made-around", 1);
    let request = under_way(outer, async {
        sleep(ms(10)).await;
        let late =
            register("drain-made-late", bulkhead_runtime::Policy::new(1)).expect("a new name");
        drop(spawn(late.call(sleep(ms(90)))));
        yield_now().await;
    })
    .await;
    let told = count_closed("drain-made-late");
    let drained = drain_all(Duration::from_secs(3)).await;
    assert_eq!(
        (drained.is_complete(), drained.took()),
        (true, ms(100)),
        "{drained}"
    );
    request.await.unwrap().unwrap();
    let late = partition("drain-made-late").expect("it was made");
    assert_eq!(reason(enter(late).await), Some(Reason::Closed));
    assert_eq!(told.load(Ordering::SeqCst), 0, "it was never open");
    assert_accounts_for(late, 2, 1);

    // Where nothing is isolated, nothing was drained.
    let elsewhere =
        thread::spawn(move || [outer, late].map(|partition| partition.snapshot().is_closed));
    assert_eq!(elsewhere.join().unwrap(), [false; 2]);
}

#[tokio::test(start_paused = true)]
async fn in_modes_that_reject_nobody_it_turns_newcomers_away_and_does_not_hang() {
    for (mode, name) in [(Mode::Observe, "drain-observe"), (Mode::Off, "drain-off")] {
        let partition = queued(name, 1, 1, ms(50));
        let outer = plain(&format!("{name}-around"), 1);
        partition.mode(mode);
        let mut all = Vec::new();
        for millis in [30, 10, 20] {
            all.push(under_way(partition, sleep(ms(millis))).await);
        }
        let drain = tokio::spawn(partition.drain(Duration::from_secs(3)));
        yield_now().await;
        assert_eq!(
            reason(enter(partition).await),
            Some(Reason::Closed),
            "{mode:?}"
        );
        let spent = Deadline::after(Duration::ZERO)
            .scope(enter(partition))
            .await;
        assert_eq!(reason(spent), Some(Reason::Closed), "{mode:?}");
        let nested = outer.call(async { enter(partition).await }).await.unwrap();
        nested.expect("there is no room, and nobody is rejected for that");
        let spent = outer.call(Deadline::after(Duration::ZERO).scope(enter(partition)));
        let spent = spent.await.unwrap();
        spent.expect("it comes too late, and nobody is rejected for that");
        let drained = drain.await.unwrap();
        assert_eq!(
            (drained.is_complete(), drained.took()),
            (true, ms(30)),
            "{mode:?}: {drained}"
        );
        partition.mode(Mode::Enforce);
        partition.reopen();
        assert_idle(partition);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_granted_its_permit_and_is_not_polled_holds_it_up_no_longer_than_its_wait()
{
    let partition = queued("drain-forgotten", 1, 1, ms(100));
    let permit = partition.try_enter().unwrap();
    let mut forgotten = Box::pin(partition.enter());
    assert!(poll_once(forgotten.as_mut()).is_pending());
    advance(ms(40)).await;
    drop(permit);
    assert_eq!(partition.snapshot().granted, 1);
    let left = partition.drain(Duration::ZERO).await;
    assert_eq!(left.left()[0].granted, 1, "{left}");
    let drained = partition.drain(Duration::from_secs(3)).await;
    assert_eq!(
        (drained.is_complete(), drained.took()),
        (true, ms(60)),
        "{drained}"
    );
    drop(forgotten);
    assert_accounts_for(partition, 2, 0);
    assert_eq!(partition.snapshot().rejected.wait_timeout, 1);
}

#[test]
fn where_it_need_not_wait_it_needs_no_runtime() {
    let partition = plain("drain-no-runtime", 1);
    assert!(poll_once(pin!(partition.drain(Duration::MAX))).is_ready());
    partition.reopen();
    let permit = partition.try_enter().unwrap();
    let Poll::Ready(drained) = poll_once(pin!(partition.drain(Duration::ZERO))) else {
        panic!("its deadline has passed")
    };
    assert_eq!(drained.left()[0].in_flight, 1);
    drop(permit);
    let far = Instant::now() + Duration::from_secs(86_400 * 365 * 60);
    assert!(poll_once(pin!(partition.drain(far))).is_ready());
}

#[test]
fn no_last_call_is_missed_by_a_drain_on_other_threads() {
    hangs_or_not("a drain that has missed the last call", || {
        let partition = plain("drain-threads", 3);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(async {
            for round in 0..10_000_u64 {
                let calls = [(); 3].map(|()| {
                    tokio::spawn(partition.call(async move {
                        for _ in 0..round % 5 {
                            yield_now().await;
                        }
                    }))
                });
                let drained = partition.drain(Duration::from_secs(3_600)).await;
                assert!(drained.is_complete(), "{drained}");
                let mut closed = 0;
                for call in calls {
                    closed += u64::from(reason(call.await.expect("no panic")).is_some());
                }
                let s = partition.snapshot();
                assert_eq!(s.in_flight, 0, "{closed} turned away: {s:?}");
                partition.reopen();
            }
        });
        assert_idle(partition);
    });
}
