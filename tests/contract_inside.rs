//! What becomes of calls inside of others, and in tasks that these have spawned: what the outer call's breaker hears
//! of it, and who waits for whom. And what else breakers once got wrong.

mod common;

use std::future::{Future, pending};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{
    Breaker, BreakerPolicy, BreakerState, BulkheadError, BulkheadLayer, Deadline, Partition,
    Policy, Verdict, bulkhead, partition, register, spawn,
};
use common::{ON_PURPOSE, ms, panics_on_purpose_are_silent, poll_once};
use tokio::time::{advance, sleep};
use tower::{Layer, ServiceExt, service_fn};

type Ends = Result<(), BulkheadError>;

fn find(name: &str) -> &'static Partition {
    partition(name).expect("it is declared")
}

/// Calls, failures and slow calls that the first breaker of a partition has seen.
fn seen(partition: &Partition) -> (u64, u64, u64) {
    let seen = partition.breakers().next().expect("it has one").snapshot();
    (seen.calls, seen.failures, seen.slow)
}

#[bulkhead(name = "inside-plain", max = 8)]
async fn hangs() -> Ends {
    pending().await
}

#[bulkhead(name = "inside-margin", max = 8, margin = 20ms)]
async fn hangs_but_for_a_margin() -> Ends {
    pending().await
}

#[bulkhead(name = "inside-around", max = 1, queue = 1, wait = 50ms, deadline = 100ms, breaker(min_calls = 100))]
async fn around(inside: impl Future<Output = Ends>) -> Ends {
    inside.await
}

#[tokio::test(start_paused = true)]
async fn a_hang_is_seen_also_if_the_call_had_waited_before() {
    let _isolated = bulkhead_runtime::test::isolate();
    let partition = find("inside-around");
    for (at, leaves) in [(1, false), (2, true)] {
        let held = partition.try_enter().expect("it is free");
        let inside = async {
            if leaves {
                pending().await
            } else {
                hangs().await
            }
        };
        let mut call = Box::pin(around(inside));
        assert!(poll_once(call.as_mut()).is_pending());
        advance(ms(40)).await;
        drop(held);
        assert!(poll_once(call.as_mut()).is_pending());
        advance(ms(60)).await;
        if leaves {
            drop(call);
        } else {
            call.await
                .expect_err("its own deadline has passed, in the call inside");
        }
        assert_eq!(seen(partition), (at, at, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hang_inside_is_seen_although_the_one_inside_keeps_a_margin() {
    let _isolated = bulkhead_runtime::test::isolate();
    around(hangs_but_for_a_margin())
        .await
        .expect_err("it hangs");
    assert_eq!(seen(find("inside-around")), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hang_inside_is_seen_if_the_body_has_set_its_deadline_itself() {
    let _isolated = bulkhead_runtime::test::isolate();
    around(Deadline::after(ms(30)).scope(hangs()))
        .await
        .expect_err("it hangs");
    assert_eq!(seen(find("inside-around")), (1, 1, 0));
}

#[bulkhead(name = "inside-spawns", max = 4, timeout = 1s, breaker(min_calls = 100))]
async fn spawns(task: impl Future<Output = Ends> + Send + 'static) -> Ends {
    spawn(task).await.expect("no panic")
}

#[tokio::test(start_paused = true)]
async fn a_client_in_a_hurry_does_not_open_a_breaker_through_a_spawned_task() {
    let _isolated = bulkhead_runtime::test::isolate();
    let cut = Deadline::after(ms(50)).scope(spawns(hangs_but_for_a_margin()));
    cut.await.expect_err("its caller has 50 ms");
    assert_eq!(seen(find("inside-spawns")), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_inside_is_no_failure_outside_also_through_a_spawned_task() {
    let _isolated = bulkhead_runtime::test::isolate();
    find("inside-plain").close();
    spawns(hangs()).await.expect_err("it is closed");
    assert_eq!(seen(find("inside-spawns")), (0, 0, 0));
}

#[partition(name = "inside-nested", max = 1, queue = 4, wait = 100ms)]
static NESTED: Partition;

#[bulkhead(NESTED)]
async fn outer(sender: tokio::sync::oneshot::Sender<tokio::task::JoinHandle<Ends>>) -> Ends {
    let outlives = spawn(async {
        sleep(ms(10)).await;
        inner().await
    });
    sender.send(outlives).expect("it is asked for");
    Ok(())
}

#[bulkhead(NESTED)]
async fn inner() -> Ends {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_task_that_outlives_the_call_that_spawned_it_waits_like_everybody() {
    let (sender, task) = tokio::sync::oneshot::channel();
    outer(sender).await.expect("there is room");
    let outlives = task.await.expect("sent by the call");
    let held = NESTED
        .try_enter()
        .expect("the call is over, and its permit is back");
    sleep(ms(20)).await;
    drop(held);
    let ended = outlives.await.expect("no panic");
    ended.expect("nobody around it holds a permit any more");
}

fn touchy(name: &str) -> &'static Partition {
    let breaker = BreakerPolicy::new()
        .with_consecutive(1)
        .with_probes(1)
        .with_open_for(ms(100));
    register(name, Policy::new(2).with_breaker(breaker)).expect("a name of its own")
}

fn state(partition: &Partition) -> Option<BreakerState> {
    partition.breaker().map(Breaker::state)
}

/// A body that ends when the sender is gone.
fn endless() -> (tokio::sync::mpsc::Sender<()>, axum::body::Body) {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<()>(1);
    let frames = std::future::poll_fn(move |cx| receiver.poll_recv(cx));
    (sender, axum::body::Body::new(Ending(Box::pin(frames))))
}

struct Ending(std::pin::Pin<Box<dyn Future<Output = Option<()>> + Send>>);

impl http_body::Body for Ending {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;
    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        self.0.as_mut().poll(cx).map(|_| None)
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_whose_body_takes_long_is_no_probe_that_hangs() {
    let partition = touchy("inside-long-probe");
    partition
        .try_enter()
        .expect("it is free")
        .finish(Verdict::Failure);
    advance(ms(120)).await;
    let (sender, body) = endless();
    let body = std::sync::Arc::new(tokio::sync::Mutex::new(Some(body)));
    let layer = BulkheadLayer::new(partition)
        .timeout(ms(200))
        .until_body(Duration::from_secs(60));
    let service = layer.layer(service_fn(move |()| {
        let body = body.clone();
        async move {
            Ok::<_, std::convert::Infallible>(axum::http::Response::new(
                body.lock().await.take().expect("once"),
            ))
        }
    }));
    let response = service
        .oneshot(())
        .await
        .unwrap_or_else(|never| match never {});
    advance(ms(300)).await;
    partition.try_enter().expect_err("the only probe is out");
    assert_eq!(state(partition), Some(BreakerState::HalfOpen));
    drop(sender);
    http_body_util::BodyExt::collect(response.into_body())
        .await
        .expect("it ends well");
    assert_eq!(state(partition), Some(BreakerState::Closed));
}

#[test]
fn what_panics_outside_a_runtime_is_a_failure_for_the_breaker_too() {
    panics_on_purpose_are_silent();
    let _ = ON_PURPOSE;
    let partition = touchy("inside-no-runtime");
    let (_sender, body) = endless();
    let body = std::rc::Rc::new(std::cell::Cell::new(Some(body)));
    let layer = BulkheadLayer::new(partition).until_body(Duration::from_secs(60));
    let service = layer.layer(service_fn(move |()| {
        let body = body.take().expect("once");
        std::future::ready(Ok::<_, std::convert::Infallible>(
            axum::http::Response::new(body),
        ))
    }));
    let mut call = Box::pin(service.oneshot(()));
    let unwound = std::panic::AssertUnwindSafe(|| poll_once(call.as_mut()).is_ready());
    std::panic::catch_unwind(unwound).expect_err("there is no runtime to watch the time");
    assert_eq!(partition.snapshot().outcomes.panicked, 1);
    assert_eq!(state(partition), Some(BreakerState::Open));
}

#[partition(name = "inside-both", max = 4, breaker(consecutive = 1, open_for = 10s))]
static BOTH: Partition;

#[bulkhead(BOTH, timeout = 50ms, breaker(consecutive = 1, open_for = 1s))]
async fn below_both() -> Ends {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn of_two_open_breakers_the_later_probe_is_told() {
    below_both().await.expect_err("it hangs");
    let error = below_both().await.expect_err("both are open");
    let left = error.retry_after().expect("it says when");
    assert!(left >= ms(10_000), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grpc_client_that_comes_back_when_a_breaker_said_finds_it_ready() {
    let partition = touchy("inside-grpc");
    partition
        .try_enter()
        .expect("it is free")
        .finish(Verdict::Failure);
    let status = tonic::Status::from(partition.try_enter().expect_err("it is open"));
    let retry = tonic_types::StatusExt::get_details_retry_info(&status).expect("it says when");
    advance(retry.retry_delay.expect("it says when")).await;
    drop(partition.try_enter().expect("that was the time"));
}
