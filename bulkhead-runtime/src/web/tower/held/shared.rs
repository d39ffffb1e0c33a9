//! The place where a body lies, and who may take it out.

use std::mem;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tower::BoxError;

use super::streaming::{Polled, Streaming};
use crate::error::{BulkheadError, Origin};
use crate::sync::Mutex;
use crate::time::{self, Instant};
use crate::web::grpc;

/// What the connection and the watch on the time share.
pub(super) struct Shared<B> {
    place: Mutex<Place<B>>,
    terms: Terms,
}

/// Whose body it is, and how long it may take.
pub(super) struct Terms {
    pub(super) origin: Origin,
    /// Before the service was called.
    pub(super) waited: Duration,
    /// The head of the response.
    pub(super) since: Instant,
    pub(super) longest: Duration,
    /// There an error of the body would reset the stream, and tell nobody why.
    pub(super) is_grpc: bool,
}

impl Terms {
    pub(super) fn until(&self) -> Instant {
        time::after(self.since, self.longest)
    }
}

/// | place | owns | moves to |
/// |---|---|---|
/// | parked | the body and its permit | asked, late, over |
/// | asked | nothing: whoever runs the body's code owns them | parked, late, over, unwound |
/// | late | the error that the connection is still to see | over |
/// | unwound | nothing: the body panicked, and the connection is still to see it | over |
/// | over | nothing | — |
enum Place<B> {
    Parked(Streaming<B>),
    Asked { is_late: bool },
    Late(BulkheadError),
    Unwound,
    Over,
}

impl<B> Shared<B> {
    pub(super) fn new(terms: Terms, streaming: Streaming<B>) -> Self {
        let place = Mutex::new(Place::Parked(streaming));
        Self { place, terms }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(*self.place.lock(), Place::Over)
    }

    /// The time is over. Whoever runs the body's code is told, and ends the call itself.
    pub(super) fn expire(&self) {
        let mut place = self.place.lock();
        match mem::replace(&mut *place, Place::Over) {
            Place::Parked(streaming) => {
                *place = Place::Late(self.late());
                drop(place);
                streaming.expire();
            }
            Place::Asked { .. } => *place = Place::Asked { is_late: true },
            before @ (Place::Late(_) | Place::Unwound | Place::Over) => *place = before,
        }
    }

    /// The connection has dropped the body.
    pub(super) fn leave(&self) {
        if let Some(out) = self.take() {
            out.end(Streaming::leave);
        }
    }

    /// Takes the body out, if it is there, for a moment in which its code runs without the lock.
    fn take(&self) -> Option<Out<'_, B>> {
        let mut place = self.place.lock();
        match mem::replace(&mut *place, Place::Asked { is_late: false }) {
            Place::Parked(streaming) => Some(Out {
                shared: self,
                streaming: Some(streaming),
            }),
            before => {
                *place = before;
                None
            }
        }
    }

    fn late(&self) -> BulkheadError {
        let Terms {
            origin,
            waited,
            since,
            longest,
            ..
        } = self.terms;
        let ran = time::now().saturating_duration_since(since);
        BulkheadError::call_timeout(origin, waited, ran, longest)
    }
}

impl<B: Body + 'static> Shared<B> {
    /// One poll of the body. If its time is over meanwhile, the next poll tells.
    pub(super) fn poll_frame(&self, cx: &mut Context<'_>) -> Polled<B::Data, BoxError>
    where
        B::Error: Into<BoxError>,
    {
        // Not left to the watch: a body that is always ready keeps it from its turn, and its runtime may
        // be gone.
        if time::now() >= self.terms.until() {
            self.expire();
        }
        let Some(mut out) = self.take() else {
            return Poll::Ready(self.tell());
        };
        let (polled, goes_on) = out.streaming().poll_frame(cx);
        if goes_on {
            out.park();
        } else {
            out.end(Streaming::end);
        }
        polled.map_err(Into::into)
    }

    /// What a connection sees where there is no body to poll.
    fn tell(&self) -> Option<Result<Frame<B::Data>, BoxError>> {
        let before = mem::replace(&mut *self.place.lock(), Place::Over);
        match before {
            Place::Late(_) if self.terms.is_grpc => Some(Ok(Frame::trailers(grpc::too_long()))),
            Place::Late(error) => Some(Err(error.into())),
            Place::Unwound => Some(Err("the body of the response panicked".into())),
            Place::Parked(_) | Place::Asked { .. } | Place::Over => None,
        }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.take().map_or_else(SizeHint::default, |mut out| {
            let hint = out.streaming().size_hint();
            out.park();
            hint
        })
    }
}

/// A body that was taken out: if its code unwinds, the call is over and the place says so.
struct Out<'s, B> {
    shared: &'s Shared<B>,
    streaming: Option<Streaming<B>>,
}

impl<B> Out<'_, B> {
    fn streaming(&mut self) -> &mut Streaming<B> {
        let streaming = self.streaming.as_mut();
        streaming.expect("it is there until it is parked or has ended")
    }

    /// Puts it back, unless its time was over meanwhile: then the next poll tells.
    fn park(mut self) {
        let Some(streaming) = self.streaming.take() else {
            return;
        };
        let mut place = self.shared.place.lock();
        if matches!(*place, Place::Asked { is_late: true }) {
            *place = Place::Late(self.shared.late());
            drop(place);
            return streaming.expire();
        }
        *place = Place::Parked(streaming);
    }

    fn end(mut self, end: impl FnOnce(Streaming<B>)) {
        if let Some(streaming) = self.streaming.take() {
            end(streaming);
            *self.shared.place.lock() = Place::Over;
        }
    }
}

impl<B> Drop for Out<'_, B> {
    fn drop(&mut self) {
        if let Some(streaming) = self.streaming.take() {
            streaming.unwind();
            *self.shared.place.lock() = Place::Unwound;
        }
    }
}
