//! Work that cannot be dropped: its permit goes with it.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;

use tokio::task::{JoinError, spawn_blocking};

use crate::error::BulkheadError;
use crate::outcome::Outcome;
use crate::partition::Partition;

pub(crate) async fn run_blocking<T: Send + 'static>(
    partition: &Partition,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BulkheadError> {
    let mut flight = {
        let mut enter = pin!(partition.enter());
        poll_fn(|cx| enter.as_mut().poll_flight(cx)).await?
    };
    // Until the work starts it can still be dropped unrun, when the runtime shuts down: cancelled.
    let working = spawn_blocking(move || {
        flight.means(Outcome::Panicked);
        let worth = work();
        flight.means(Outcome::Success);
        worth
    });
    match working.await.map_err(JoinError::try_into_panic) {
        Ok(worth) => Ok(worth),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => panic!(
            "the runtime shut down before the work of `{}` began",
            partition.name()
        ),
    }
}
