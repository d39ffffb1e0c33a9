//! No permit is ever lost, and none is ever invented.

mod common;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bulkhead_runtime::{BulkheadError, Verdict, bulkhead};
use common::{
    Crowd, ON_PURPOSE, Woken, assert_bounds, assert_idle, ms, panics_on_purpose_are_silent, plain,
    poll_once, queued,
};
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn waiters_that_time_out_eat_no_later_release() {
    let partition = queued("eaten-release", 2, 2, ms(10));
    let held = [
        partition.try_enter().unwrap(),
        partition.try_enter().unwrap(),
    ];
    for waiter in [partition.enter(), partition.enter()] {
        assert!(
            matches!(waiter.await, Err(BulkheadError::WaitTimeout(_))),
            "both held for longer than the wait"
        );
    }
    drop(held);
    let both = [partition.try_enter(), partition.try_enter()];
    assert!(
        both.iter().all(Result::is_ok),
        "two permits are back: {both:?}"
    );
    assert_eq!(partition.snapshot().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn every_queued_call_runs_one_at_a_time_and_in_order() {
    let partition = queued("one-by-one", 1, 10, ms(200));
    let (crowd, mut calls) = (Arc::new(Crowd::default()), JoinSet::new());
    let (log, mut order) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..10 {
        let (crowd, log) = (Arc::clone(&crowd), log.clone());
        calls.spawn(partition.call(async move {
            let _inside = crowd.enter();
            log.send(number).unwrap();
            sleep(ms(10)).await;
        }));
        yield_now().await;
    }
    let results = calls.join_all().await;
    assert!(
        results.iter().all(Result::is_ok),
        "all ten run: {results:?}"
    );
    for number in 0..10 {
        assert_eq!(order.try_recv(), Ok(number), "in order");
    }
    assert_eq!(crowd.peak(), 1);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_await_gives_everything_back() {
    #[bulkhead(name = "dropped-anywhere", max = 1, queue = 1, wait = 50ms, timeout = 60ms)]
    async fn call() -> Result<(), BulkheadError> {
        yield_now().await;
        sleep(ms(10)).await;
        Ok(())
    }
    let partition = bulkhead_runtime::partition("dropped-anywhere").unwrap();

    drop(call());
    assert_eq!(
        partition.snapshot().started,
        0,
        "a future that was never polled did nothing"
    );

    for polls in 1..=3_u64 {
        let mut running = Box::pin(call());
        for _ in 0..polls {
            assert!(poll_once(running.as_mut()).is_pending());
        }
        assert_eq!(partition.snapshot().in_flight, 1);
        drop(running);
        assert_eq!(partition.snapshot().outcomes.cancelled, polls);
        assert_idle(partition);
    }

    let held = partition.try_enter().unwrap();
    let mut waiting = Box::pin(call());
    assert!(poll_once(waiting.as_mut()).is_pending());
    assert_eq!(partition.snapshot().waiting, 1);
    drop(waiting);
    assert_eq!(partition.snapshot().abandoned, 1);

    let mut granted = Box::pin(call());
    assert!(poll_once(granted.as_mut()).is_pending());
    drop(held);
    assert_eq!(partition.snapshot().granted, 1);
    drop(granted);
    assert_eq!(partition.snapshot().abandoned, 2);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn enter_and_call_and_blocking_dropped_at_any_await_give_everything_back() {
    let partition = queued("dropped-by-hand", 1, 4, ms(50));
    let held = partition.try_enter().unwrap();
    let mut enter = Box::pin(partition.enter());
    let mut by = Box::pin(partition.enter_by(tokio::time::Instant::now() + ms(5)));
    let mut call = Box::pin(partition.call(async {}));
    let mut blocking = Box::pin(partition.run_blocking(|| {}));
    assert!(poll_once(enter.as_mut()).is_pending());
    assert!(poll_once(by.as_mut()).is_pending());
    assert!(poll_once(call.as_mut()).is_pending());
    assert!(poll_once(blocking.as_mut()).is_pending());
    assert_eq!(partition.snapshot().waiting, 4);
    drop((enter, by, call, blocking));
    assert_eq!(partition.snapshot().abandoned, 4);
    drop(held);
    assert_idle(partition);
}

#[tokio::test]
async fn a_panicking_body_gives_its_permit_back() {
    #[bulkhead(name = "panics", max = 1)]
    async fn now() -> Result<(), BulkheadError> {
        panic!("{ON_PURPOSE}");
    }
    #[bulkhead(name = "panics", max = 1)]
    async fn later() -> Result<(), BulkheadError> {
        yield_now().await;
        panic!("{ON_PURPOSE}");
    }
    panics_on_purpose_are_silent();
    let partition = bulkhead_runtime::partition("panics").unwrap();

    for expected in 1..=2 {
        let panic = if expected == 1 {
            tokio::spawn(now()).await
        } else {
            tokio::spawn(later()).await
        };
        assert!(panic.unwrap_err().is_panic());
        assert_eq!(partition.snapshot().outcomes.panicked, expected);
        assert_idle(partition);
    }

    // The future outlives its panic; its permit does not.
    let mut body = Box::pin(now());
    let caught = std::panic::catch_unwind(AssertUnwindSafe(|| poll_once(body.as_mut())));
    assert!(caught.is_err(), "the panic goes on to the caller");
    assert_eq!(partition.snapshot().outcomes.panicked, 3);
    assert_idle(partition);
    drop(body);
    assert_eq!(
        partition.snapshot().outcomes.panicked,
        3,
        "and is counted once"
    );
}

#[test]
fn a_permit_dropped_by_an_older_panic_did_not_panic() {
    struct HoldsOneWhenDropped(&'static bulkhead_runtime::Partition);
    impl Drop for HoldsOneWhenDropped {
        fn drop(&mut self) {
            drop(self.0.try_enter());
        }
    }
    panics_on_purpose_are_silent();
    let partition = plain("older-panic", 1);
    let panic = std::panic::catch_unwind(|| {
        let _clean_up = HoldsOneWhenDropped(partition);
        let _held = partition.try_enter();
        panic!("{ON_PURPOSE}");
    });
    assert!(panic.is_err());
    let outcomes = partition.snapshot().outcomes;
    assert_eq!(
        (outcomes.panicked, outcomes.success),
        (1, 1),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn every_way_out_of_a_body_gives_its_permit_back() {
    #[bulkhead(name = "ways-out", max = 1)]
    async fn leave(way: u8) -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
        if way == 0 {
            return Ok(0);
        }
        if way == 1 {
            "x".parse::<u8>()?;
        }
        let found = 'search: loop {
            for candidate in 0..10 {
                if way == 2 {
                    return Err("early".into());
                }
                yield_now().await;
                if candidate == 3 {
                    break 'search candidate;
                }
            }
        };
        Ok(found)
    }
    for _ in 0..3 {
        assert_eq!(leave(0).await.unwrap(), 0);
        leave(1).await.unwrap_err();
        leave(2).await.unwrap_err();
        assert_eq!(leave(3).await.unwrap(), 3);
    }
    let partition = bulkhead_runtime::partition("ways-out").unwrap();
    let outcomes = partition.snapshot().outcomes;
    assert_eq!(
        (outcomes.success, outcomes.failure, outcomes.total()),
        (6, 6, 12)
    );
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_head_passes_its_permit_on_without_another_release() {
    let partition = queued("cancelled-head", 1, 2, ms(1_000));
    let permit = partition.try_enter().unwrap();
    let mut head = Box::pin(partition.enter());
    let (mut second, (woken, waker)) = (Box::pin(partition.enter()), Woken::new());
    assert!(poll_once(head.as_mut()).is_pending());
    assert!(
        second
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&waker))
            .is_pending()
    );
    drop(permit);
    drop(head);
    assert_eq!(
        woken.times(),
        1,
        "the second was woken by the drop of the head"
    );
    assert!(matches!(poll_once(second.as_mut()), Poll::Ready(Ok(_))));
    assert_eq!(partition.snapshot().abandoned, 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_waiter_eats_no_wake_up() {
    let partition = queued("cancelled-waiter", 1, 3, ms(1_000));
    for cancelled in 0..3 {
        let held = partition.try_enter().unwrap();
        let mut waiters: Vec<_> = (0..3).map(|_| Box::pin(partition.enter())).collect();
        for waiter in &mut waiters {
            assert!(poll_once(waiter.as_mut()).is_pending());
        }
        drop(waiters.remove(cancelled));
        assert_eq!(
            partition.snapshot().waiting,
            2,
            "those that left are not counted"
        );
        drop(held);
        for mut waiter in waiters {
            let Poll::Ready(Ok(permit)) = poll_once(waiter.as_mut()) else {
                panic!("its turn, in order")
            };
            drop(permit);
        }
        assert_idle(partition);
    }
}

#[tokio::test(start_paused = true)]
async fn after_ten_thousand_mixed_endings_every_gauge_is_zero_and_every_call_is_counted_once() {
    panics_on_purpose_are_silent();
    let partition = queued("ten-thousand", 4, 8, ms(3));
    let (crowd, mut calls) = (Arc::new(Crowd::default()), JoinSet::new());
    for number in 0..10_000_u64 {
        let crowd = Arc::clone(&crowd);
        let call = partition
            .call(async move {
                let _inside = crowd.enter();
                sleep(ms(number % 5)).await;
                assert!(number % 11 != 0, "{ON_PURPOSE}");
                number
            })
            .timeout(ms(3))
            .classify(|number| {
                if number % 2 == 0 {
                    Verdict::Failure
                } else {
                    Verdict::Success
                }
            });
        let task = calls.spawn(call);
        // Polled once before anything else happens to it, so that each of them is a call.
        yield_now().await;
        if number % 5 == 0 {
            sleep(ms(1)).await;
        }
        if number % 7 < 2 {
            task.abort();
        }
        assert_bounds(&partition.snapshot());
    }
    let mut told = Told::default();
    while let Some(ended) = calls.join_next().await {
        *match ended {
            Ok(Ok(number)) if number % 2 == 0 => &mut told.failure,
            Ok(Ok(_)) => &mut told.success,
            Ok(Err(BulkheadError::CallTimeout(_))) => &mut told.timed_out,
            Ok(Err(BulkheadError::Full(_))) => &mut told.full,
            Ok(Err(_)) => &mut told.wait_timeout,
            Err(join) if join.is_panic() => &mut told.panicked,
            Err(_) => &mut told.aborted,
        } += 1;
    }
    let s = partition.snapshot();
    let counted = Told {
        success: s.outcomes.success,
        failure: s.outcomes.failure,
        timed_out: s.outcomes.timed_out,
        panicked: s.outcomes.panicked,
        full: s.rejected.full,
        wait_timeout: s.rejected.wait_timeout,
        aborted: s.outcomes.cancelled + s.abandoned,
    };
    assert_eq!(
        counted, told,
        "what was counted is what the callers were told"
    );
    assert_eq!(s.started, 10_000);
    assert_eq!(s.admitted, crowd.ever(), "bodies that started");
    assert_eq!(
        (crowd.peak(), crowd.inside()),
        (4, 0),
        "never more inside than permits, and all of them used"
    );
    for (kind, count) in [
        ("success", told.success),
        ("failure", told.failure),
        ("timed out", told.timed_out),
        ("panicked", told.panicked),
        ("full", told.full),
        ("wait timeout", told.wait_timeout),
        ("cancelled", s.outcomes.cancelled),
        ("abandoned", s.abandoned),
    ] {
        assert!(count > 0, "no call ended as {kind}: {s:?}");
    }
    assert_idle(partition);
}

/// What ten thousand callers were told.
#[derive(Debug, Default, PartialEq)]
struct Told {
    success: u64,
    failure: u64,
    timed_out: u64,
    panicked: u64,
    full: u64,
    wait_timeout: u64,
    aborted: u64,
}

#[test]
fn headroom_never_exceeds_max() {
    let partition = plain("headroom", 2);
    for round in 0..100 {
        let first = partition.try_enter().unwrap();
        first.finish(if round % 2 == 0 {
            Verdict::Success
        } else {
            Verdict::Ignored
        });
        assert_eq!(
            partition.snapshot().headroom,
            2,
            "a permit is consumed by `finish`, nothing is left to release"
        );
    }
    assert_idle(partition);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_calls_by_64_tasks_never_see_a_fifth_inside() {
    let partition = plain("four-inside", 4);
    let (crowd, mut tasks) = (Arc::new(Crowd::default()), JoinSet::new());
    for _ in 0..64 {
        let crowd = Arc::clone(&crowd);
        tasks.spawn(async move {
            let mut done = 0;
            while done < 100_000 / 64 {
                let result = partition
                    .call(async {
                        let _inside = crowd.enter();
                        yield_now().await;
                    })
                    .await;
                match result {
                    Ok(()) => done += 1,
                    Err(_) => yield_now().await,
                }
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(crowd.peak(), 4);
    assert_eq!(partition.snapshot().admitted, crowd.ever());
    assert_idle(partition);
}

#[tokio::test]
async fn blocking_work_keeps_its_permit_when_its_caller_has_left() {
    let partition = plain("left-blocking", 1);
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (let_go, gate) = std::sync::mpsc::channel::<()>();
    let (done, is_done) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn(partition.run_blocking(move || {
        started.send(()).unwrap();
        gate.recv().unwrap();
        done
    }));
    has_started.await.unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(partition.snapshot().in_flight, 1, "the thread still works");
    assert!(matches!(partition.try_enter(), Err(BulkheadError::Full(_))));
    let_go.send(()).unwrap();
    is_done
        .await
        .expect_err("what the work returned is dropped when the thread is done with it");
    while partition.snapshot().in_flight > 0 {
        yield_now().await;
    }
    assert_eq!(
        partition.snapshot().outcomes.success,
        1,
        "counted as what it became"
    );
}

#[tokio::test]
async fn a_panic_in_blocking_work_reaches_the_caller_and_gives_the_permit_back() {
    panics_on_purpose_are_silent();
    let partition = plain("panics-blocking", 1);
    let call = tokio::spawn(partition.run_blocking(|| panic!("{ON_PURPOSE}")));
    assert!(call.await.unwrap_err().is_panic());
    assert_eq!(partition.snapshot().outcomes.panicked, 1);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_future_is_gone_before_its_permit_is_free() {
    struct HoldsConnection(&'static bulkhead_runtime::Partition);
    impl Drop for HoldsConnection {
        fn drop(&mut self) {
            assert!(
                self.0.try_enter().is_err(),
                "the permit is free while the connection is still held"
            );
        }
    }
    let partition = plain("gone-first", 1);
    let connection = HoldsConnection(partition);
    let hangs = partition.call(async move {
        let _connection = connection;
        std::future::pending::<()>().await;
    });
    assert!(matches!(
        hangs.timeout(ms(5)).await,
        Err(BulkheadError::CallTimeout(_))
    ));
    assert_eq!(
        partition.snapshot().rejected.full,
        1,
        "the destructor ran, and looked"
    );
    assert_idle(partition);

    // The same when it is cancelled, and when it ends.
    let connection = HoldsConnection(partition);
    let mut cancelled = Box::pin(partition.call(async move {
        let _connection = connection;
        std::future::pending::<()>().await;
    }));
    assert!(poll_once(cancelled.as_mut()).is_pending());
    drop(cancelled);
    let connection = HoldsConnection(partition);
    partition
        .call(async move {
            let _connection = connection;
        })
        .await
        .unwrap();
    let rejected = partition.snapshot().rejected.full;
    assert_eq!(
        rejected,
        1 + 1 + 1 + 1,
        "all three looked, and `assert_idle` did"
    );
}

#[tokio::test]
async fn a_rejected_body_is_never_polled_and_its_arguments_are_dropped() {
    #[bulkhead(name = "never-polled", max = 1)]
    async fn call(argument: Arc<()>, crowd: Arc<Crowd>) -> Result<(), BulkheadError> {
        let _inside = crowd.enter();
        drop(argument);
        Ok(())
    }
    let partition = bulkhead_runtime::partition("never-polled").unwrap();
    let (argument, crowd) = (Arc::new(()), Arc::new(Crowd::default()));
    let held = partition.try_enter().unwrap();

    let mut rejected = pin!(call(Arc::clone(&argument), Arc::clone(&crowd)));
    assert!(matches!(
        poll_once(rejected.as_mut()),
        Poll::Ready(Err(BulkheadError::Full(_)))
    ));
    assert_eq!(
        Arc::strong_count(&argument),
        1,
        "dropped, although the future lives on"
    );
    assert_eq!(crowd.ever(), 0);

    drop(held);
    call(argument, Arc::clone(&crowd)).await.unwrap();
    assert_eq!(crowd.ever(), 1, "the body does count when it runs");
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_strands_nobody() {
    struct Hostile;
    impl std::task::Wake for Hostile {
        fn wake(self: Arc<Self>) {
            panic!("{ON_PURPOSE}");
        }
    }
    panics_on_purpose_are_silent();
    let partition = queued("hostile-waker", 1, 2, ms(20));
    let held = partition.try_enter().unwrap();
    let hostile = Arc::new(Hostile).into();
    let mut first = Box::pin(partition.enter());
    let mut second = Box::pin(partition.enter());
    assert!(
        first
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&hostile))
            .is_pending()
    );
    assert!(poll_once(second.as_mut()).is_pending());
    drop(held);
    assert_eq!(
        partition.snapshot().granted,
        1,
        "granted, although waking it panicked"
    );
    drop(first);
    assert!(matches!(poll_once(second.as_mut()), Poll::Ready(Ok(_))));
}
