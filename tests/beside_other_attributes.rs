//! The attribute beside those of other crates, above and below them: the body runs, a rejection
//! becomes the error, and the function has one partition.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::extract::{Path, State};
use bulkhead_runtime::{BulkheadError, Snapshot, bulkhead, snapshots};

/// Suspends once, so that a permit is held while something else is tried.
async fn pause() {
    let mut is_done = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut is_done, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The one partition of this name.
fn only(name: &str) -> Snapshot {
    let mut named = snapshots()
        .into_iter()
        .filter(|snapshot| snapshot.name == name);
    let only = named.next().expect("it is declared");
    assert_eq!(named.count(), 0, "`{name}` is one partition");
    only
}

/// Runs two calls at once against one permit.
#[track_caller]
fn one_runs_and_one_is_rejected<T, F>(name: &str, call: impl Fn() -> F)
where
    F: Future<Output = Result<T, BulkheadError>>,
{
    let before = only(name);
    let (mut first, mut second) = (pin!(call()), pin!(call()));
    assert!(poll(first.as_mut()).is_pending(), "it runs and pauses");
    let Poll::Ready(Err(error)) = poll(second.as_mut()) else {
        panic!("`{name}` has a single permit");
    };
    assert_eq!(error.partition(), name, "the error names it");
    assert!(
        matches!(poll(first.as_mut()), Poll::Ready(Ok(_))),
        "it ends"
    );
    let after = only(name);
    assert_eq!(after.admitted - before.admitted, 1, "{after:?}");
    assert_eq!(after.rejected.full - before.rejected.full, 1, "{after:?}");
    assert_eq!(after.in_flight, 0, "{after:?}");
}

#[bulkhead(name = "instrument.below", max = 1)]
#[tracing::instrument(skip(text))]
async fn instrument_below(number: u32, text: &str) -> Result<usize, BulkheadError> {
    pause().await;
    Ok(text.len())
}

#[tracing::instrument(ret, err)]
#[bulkhead(name = "instrument.above", max = 1)]
async fn instrument_above(number: u32, text: &str) -> Result<usize, BulkheadError> {
    pause().await;
    Ok(text.len())
}

#[test]
fn instrument() {
    one_runs_and_one_is_rejected("instrument.below", || instrument_below(1, "text"));
    one_runs_and_one_is_rejected("instrument.above", || instrument_above(1, "text"));
}

#[bulkhead(name = "handler.below", max = 1)]
#[axum::debug_handler]
async fn handler_below(
    State(state): State<u32>,
    Path(id): Path<u32>,
) -> Result<String, BulkheadError> {
    pause().await;
    Ok(format!("{state}{id}"))
}

#[axum::debug_handler]
#[bulkhead(name = "handler.above", max = 1)]
async fn handler_above(
    State(state): State<u32>,
    Path(id): Path<u32>,
) -> Result<String, BulkheadError> {
    pause().await;
    Ok(format!("{state}{id}"))
}

#[axum::debug_handler]
#[bulkhead(name = "handler.between", max = 1)]
#[tracing::instrument]
async fn handler_between(Path(id): Path<u32>) -> Result<String, BulkheadError> {
    pause().await;
    Ok(id.to_string())
}

#[test]
fn debug_handler() {
    one_runs_and_one_is_rejected("handler.below", || handler_below(State(1), Path(2)));
    one_runs_and_one_is_rejected("handler.above", || handler_above(State(1), Path(2)));
    one_runs_and_one_is_rejected("handler.between", || handler_between(Path(2)));
}

#[test]
fn guarded_handlers_are_handlers() {
    let _routes: axum::Router<()> = axum::Router::new()
        .route("/below/{id}", axum::routing::get(handler_below))
        .route("/above/{id}", axum::routing::get(handler_above))
        .with_state(1);
}

#[async_trait::async_trait]
trait Port: Send + Sync {
    #[bulkhead(name = "async_trait.default", max = 1)]
    async fn default(&self, text: &str) -> Result<usize, BulkheadError> {
        pause().await;
        self.length(text).await
    }

    async fn length(&self, text: &str) -> Result<usize, BulkheadError>;
}

struct Client;

#[async_trait::async_trait]
impl Port for Client {
    #[bulkhead(name = "async_trait.method", max = 1)]
    async fn length(&self, text: &str) -> Result<usize, BulkheadError> {
        pause().await;
        Ok(text.len())
    }
}

struct Quick;

#[async_trait::async_trait]
impl Port for Quick {
    async fn length(&self, text: &str) -> Result<usize, BulkheadError> {
        Ok(text.len())
    }
}

/// `#[async_trait]` stands on the `impl` and always comes first; here it is the function that the
/// boxed future comes from.
#[test]
fn async_trait() {
    one_runs_and_one_is_rejected("async_trait.method", || Client.length("text"));
    one_runs_and_one_is_rejected("async_trait.default", || Quick.default("text"));
    let port: &dyn Port = &Client;
    one_runs_and_one_is_rejected("async_trait.method", || port.length("text"));
}

#[bulkhead(name = "recursion.below", max = 1)]
#[async_recursion::async_recursion]
async fn recursion_below(depth: u32) -> Result<u32, BulkheadError> {
    pause().await;
    Ok(depth)
}

#[async_recursion::async_recursion]
#[bulkhead(name = "recursion.above", max = 1)]
async fn recursion_above(depth: u32) -> Result<u32, BulkheadError> {
    pause().await;
    Ok(depth)
}

#[async_recursion::async_recursion]
#[bulkhead(name = "recursion.deep", max = 4)]
async fn recursion_deep(depth: u32) -> Result<u32, BulkheadError> {
    if depth == 0 {
        Ok(0)
    } else {
        Ok(1 + recursion_deep(depth - 1).await?)
    }
}

#[test]
fn async_recursion() {
    one_runs_and_one_is_rejected("recursion.below", || recursion_below(1));
    one_runs_and_one_is_rejected("recursion.above", || recursion_above(1));
}

#[tokio::test]
async fn every_level_of_a_recursion_takes_a_permit() {
    assert_eq!(
        recursion_deep(3).await.expect("four levels, four permits"),
        3
    );
    assert!(
        recursion_deep(4).await.is_err(),
        "five levels, four permits"
    );
}

#[bulkhead(name = "test.above", max = 1)]
#[tokio::test]
async fn tokio_test_below() -> Result<(), BulkheadError> {
    pause().await;
    assert_eq!(
        only("test.above").in_flight,
        1,
        "the test itself is guarded"
    );
    Ok(())
}

#[test]
fn nothing_here_has_two_policies() {
    bulkhead_runtime::verify().expect("copies that another attribute makes are no disagreement");
}
