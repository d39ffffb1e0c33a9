//! A body that keeps its permit until it has ended, was dropped, or has taken too long.
//!
//! A server polls a body only as fast as the client reads it. A client that stops reading would hold
//! its permit for as long as it likes, and a timer inside the body would not be looked at. So the body
//! lies in a place that a task of its own can empty when the time is over.

mod shared;
mod streaming;
#[cfg(all(test, not(bulkhead_loom)))]
mod tests;

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::response::Parts;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep_until};
use tower::BoxError;

use self::shared::{Shared, Terms};
use self::streaming::Streaming;
use super::extent::Answered;
use crate::time;
use crate::web::grpc;

pin_project! {
    /// The body of a response that keeps its permit; see
    /// [`until_body`](super::BulkheadLayer::until_body).
    ///
    /// Its frames are those of the body inside. Its error is that of the body inside, boxed, or a
    /// [`CallTimeout`](crate::BulkheadError::CallTimeout) when it took too long; a gRPC stream then ends
    /// with the trailers of `DEADLINE_EXCEEDED`. A body that panicked and is polled again gives an error
    /// too, and never passes for one that has ended.
    pub struct HeldBody<B> {
        #[pin]
        state: State<B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<B> {
        /// A body without a permit: of a rejection, or of nothing.
        Free { #[pin] body: B },
        Held { held: Held<B> },
    }
}

/// The handle on a body that keeps its permit; its drop ends the call.
struct Held<B> {
    shared: Arc<Shared<B>>,
    watch: AbortHandle,
}

impl<B: Body + Send + 'static> HeldBody<B> {
    /// The body is the last of the arguments, and so the first that a panic drops: before its permit.
    /// It then counts as panicked, as whatever panics before its call has ended.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled, and when the body does.
    pub(super) fn hold(held: Answered, longest: Duration, parts: &Parts, body: B) -> Self {
        if body.is_end_stream() {
            held.end();
            return Self::free(body);
        }
        let left = length(parts).or_else(|| body.size_hint().exact());
        let terms = Terms {
            origin: held.origin,
            waited: held.waited,
            since: time::now(),
            longest,
            is_grpc: grpc::is_grpc(&parts.headers),
        };
        // Here and not in the task, where nobody would hear of the panic.
        let sleep = sleep_until(terms.until());
        let shared = Arc::new(Shared::new(terms, Streaming::new(held, body, left)));
        let watch = tokio::spawn(watch(Arc::downgrade(&shared), sleep)).abort_handle();
        let held = Held { shared, watch };
        Self {
            state: State::Held { held },
        }
    }
}

impl<B> HeldBody<B> {
    pub(super) fn free(body: B) -> Self {
        Self {
            state: State::Free { body },
        }
    }
}

/// The length that a response announces.
fn length(parts: &Parts) -> Option<u64> {
    let length = parts.headers.get(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

async fn watch<B>(shared: Weak<Shared<B>>, sleep: Sleep) {
    sleep.await;
    if let Some(shared) = shared.upgrade() {
        shared.expire();
    }
}

impl<B> Body for HeldBody<B>
where
    B: Body + 'static,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        match self.project().state.project() {
            StateProjection::Free { body } => body.poll_frame(cx).map_err(Into::into),
            StateProjection::Held { held } => held.shared.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Free { body } => body.is_end_stream(),
            State::Held { held } => held.shared.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Free { body } => body.size_hint(),
            State::Held { held } => held.shared.size_hint(),
        }
    }
}

impl<B> Drop for Held<B> {
    fn drop(&mut self) {
        self.watch.abort();
        self.shared.leave();
    }
}

impl<B> fmt::Debug for HeldBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBody").finish_non_exhaustive()
    }
}
