//! Work that cannot be dropped: its permit goes with it.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;

use tokio::task::spawn_blocking;

use crate::error::BulkheadError;
use crate::outcome::Outcome;
use crate::partition::Partition;

pub(crate) async fn run_blocking<T, W>(partition: &Partition, work: W) -> Result<T, BulkheadError>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
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
    match working.await {
        Ok(worth) => Ok(worth),
        Err(error) => resume_unwind(error.into_panic()),
    }
}
