//! A body that keeps its permit until it has ended, was dropped, or has taken too long.
//!
//! A server polls a body only as fast as the client reads it. A client that stops reading would hold
//! its permit for as long as it likes, and a timer inside the body would not be looked at. So the body
//! lies in a place that a task of its own can empty when the time is over.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::task::AbortHandle;
use tower::BoxError;

use super::extent::Answered;
use crate::error::BulkheadError;
use crate::foreign::{drop_harmlessly, harmless};
use crate::outcome::{Outcome, Verdict};
use crate::sync::Mutex;
use crate::time::{self, Instant};
use crate::web::grpc;

pin_project! {
    /// The body of a response that keeps its permit; see
    /// [`until_body`](super::BulkheadLayer::until_body).
    ///
    /// Its frames are those of the body inside. Its error is that of the body inside, boxed, or a
    /// [`BulkheadError`] when it took too long; a gRPC stream then ends with the trailers of
    /// `DEADLINE_EXCEEDED`.
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

struct Shared<B> {
    place: Mutex<Place<B>>,
    since: Instant,
    longest: Duration,
    /// There an error of the body would reset the stream, and tell nobody why.
    is_grpc: bool,
}

/// | place | owns | moves to |
/// |---|---|---|
/// | parked | the body and its permit | polled, late, over |
/// | polled | nothing: the poll that runs owns them | parked, late, over |
/// | late | the error that the connection is still to see | over |
/// | over | nothing | — |
enum Place<B> {
    Parked(Streaming<B>),
    Polled { is_late: bool },
    Late(BulkheadError),
    Over,
}

/// A body that streams, before its permit: fields drop in order.
struct Streaming<B> {
    body: Pin<Box<B>>,
    held: Answered,
    /// Of the connection, if it waits for the body.
    waker: Option<Waker>,
}

impl<B: Body + Send + 'static> HeldBody<B> {
    /// # Panics
    /// Outside a tokio runtime.
    pub(super) fn hold(body: B, mut held: Answered, longest: Duration, is_grpc: bool) -> Self {
        if body.is_end_stream() {
            held.end();
            return Self::free(body);
        }
        held.flight.means(Outcome::Cancelled);
        let streaming = Streaming {
            body: Box::pin(body),
            held,
            waker: None,
        };
        let shared = Arc::new(Shared {
            place: Mutex::new(Place::Parked(streaming)),
            since: time::now(),
            longest,
            is_grpc,
        });
        let watch = tokio::spawn(watch(Arc::downgrade(&shared), shared.until())).abort_handle();
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

async fn watch<B>(shared: Weak<Shared<B>>, until: Instant) {
    tokio::time::sleep_until(until).await;
    if let Some(shared) = shared.upgrade() {
        shared.expire();
    }
}

impl<B> Body for HeldBody<B>
where
    B: Body,
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
            State::Held { held } => matches!(*held.shared.place.lock(), Place::Over),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Free { body } => body.size_hint(),
            State::Held { held } => held.shared.size_hint(),
        }
    }
}

impl<B> Shared<B> {
    fn until(&self) -> Instant {
        time::after(self.since, self.longest)
    }

    /// The time is over. A poll that runs is told, and ends the call itself.
    fn expire(&self) {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Over) {
            Place::Parked(streaming) => {
                *place = Place::Late(self.late(&streaming.held));
                drop(place);
                streaming.expire();
            }
            Place::Polled { .. } => *place = Place::Polled { is_late: true },
            before @ (Place::Late(_) | Place::Over) => *place = before,
        }
    }

    /// Takes the body out, for a moment in which foreign code runs without the lock.
    fn take(&self) -> Result<Streaming<B>, Option<BulkheadError>> {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Over) {
            Place::Parked(streaming) => {
                *place = Place::Polled { is_late: false };
                Ok(streaming)
            }
            Place::Late(error) => Err(Some(error)),
            Place::Polled { .. } | Place::Over => Err(None),
        }
    }

    /// Puts it back, unless its time was over meanwhile: then the next [`take`](Self::take) tells.
    fn park(&self, streaming: Streaming<B>) {
        let mut place = self.place.lock();
        if matches!(*place, Place::Polled { is_late: true }) {
            *place = Place::Late(self.late(&streaming.held));
            drop(place);
            return streaming.expire();
        }
        *place = Place::Parked(streaming);
    }

    fn over(&self) {
        *self.place.lock() = Place::Over;
    }

    fn late(&self, held: &Answered) -> BulkheadError {
        let ran = time::now().saturating_duration_since(self.since);
        BulkheadError::call_timeout(held.origin, Duration::ZERO, ran, self.longest)
    }
}

impl<B: Body> Shared<B> {
    /// One poll of the body. If its time is over meanwhile, the next poll tells.
    fn poll_frame(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, BoxError>>>
    where
        B::Error: Into<BoxError>,
    {
        let mut streaming = match self.take() {
            Ok(streaming) => streaming,
            Err(Some(_)) if self.is_grpc => {
                return Poll::Ready(Some(Ok(Frame::trailers(grpc::too_long()))));
            }
            Err(late) => return Poll::Ready(late.map(|error| Err(error.into()))),
        };
        let polled = streaming.poll_frame(cx);
        if streaming.goes_on(&polled) {
            self.park(streaming);
        } else {
            let verdict = streaming.held.verdict;
            streaming.end(verdict.into());
            self.over();
        }
        polled.map_err(Into::into)
    }

    fn size_hint(&self) -> SizeHint {
        match self.take() {
            Ok(streaming) => {
                let hint = streaming.body.size_hint();
                self.park(streaming);
                hint
            }
            Err(late) => {
                if let Some(error) = late {
                    *self.place.lock() = Place::Late(error);
                }
                SizeHint::default()
            }
        }
    }
}

impl<B> Streaming<B> {
    /// The body is gone before its permit is free, even if its destructor panics.
    fn end(self, outcome: Outcome) {
        let Self { body, mut held, .. } = self;
        held.flight.means(outcome);
        drop_harmlessly(body);
    }

    /// Ends, and lets the connection see it.
    fn expire(mut self) {
        let waker = self.waker.take();
        self.end(Outcome::TimedOut);
        if let Some(waker) = waker {
            harmless(|| waker.wake());
        }
    }
}

impl<B: Body> Streaming<B> {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> PolledFrame<B> {
        self.held.flight.means(Outcome::Panicked);
        let polled = self.body.as_mut().poll_frame(cx);
        match &polled {
            Poll::Pending => self.waker = Some(cx.waker().clone()),
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(verdict) = frame.trailers_ref().and_then(grpc::verdict) {
                    self.held.verdict = verdict;
                }
            }
            Poll::Ready(Some(Err(_))) => self.held.verdict = Verdict::Failure,
            Poll::Ready(None) => {}
        }
        self.held.flight.means(Outcome::Cancelled);
        polled
    }

    fn goes_on(&self, polled: &PolledFrame<B>) -> bool {
        match polled {
            Poll::Pending => true,
            Poll::Ready(Some(Ok(_))) => !self.body.is_end_stream(),
            Poll::Ready(_) => false,
        }
    }
}

type PolledFrame<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

impl<B> Drop for Held<B> {
    fn drop(&mut self) {
        self.watch.abort();
        if let Ok(streaming) = self.shared.take() {
            self.shared.over();
            streaming.end(Outcome::Cancelled);
        }
    }
}

impl<B> fmt::Debug for HeldBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBody").finish_non_exhaustive()
    }
}
