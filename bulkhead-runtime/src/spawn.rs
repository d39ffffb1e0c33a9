//! A task that carries on what the one that spawned it carries.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::task::JoinHandle;

use crate::frame::Carried;

/// `tokio::spawn`, for a task that works for the caller of this one.
///
/// It has the same [deadline](crate::Deadline). Its calls of a partition of which a permit is held here never queue, as
/// they might wait for the call that holds it. And a [breaker](crate::Breaker) around this call knows of those that
/// were rejected in there.
///
/// A task that is made inside a guarded call is part of it for its whole life, also when it outlives the call: while
/// partitions [drain](crate::drain_all), its calls are let in, so that what it works for can come to its end. One that
/// goes on for ever would be let in for ever, and keep whoever drains waiting while it calls.
///
/// Of a call that [tries again](macro@crate::bulkhead#retries) it belongs to an attempt, for its whole life: what it calls
/// does not try again.
///
/// A plain `tokio::spawn` starts without any of it, which is right for a task that goes on by itself: while partitions
/// drain, its calls are rejected.
///
/// # Panics
/// Outside a tokio runtime.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::{spawn, Deadline};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tokio::task::JoinError> {
/// let deadline = Deadline::after(Duration::from_secs(1));
/// let seen = deadline
///     .scope(async { spawn(async { Deadline::current() }).await })
///     .await?;
/// assert_eq!(seen, Some(deadline));
/// # Ok(()) }
/// ```
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(Carrying {
        future,
        carried: Carried::current(),
    })
}

pin_project! {
    struct Carrying<F> {
        #[pin]
        future: F,
        carried: Carried,
    }
}

impl<F: Future> Future for Carrying<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let future = this.future;
        this.carried.around(|| future.poll(cx))
    }
}
