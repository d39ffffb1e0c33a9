//! A body that streams, and what its end would mean right now.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};

use super::super::extent::Answered;
use crate::foreign::{drop_harmlessly, harmless};
use crate::frame;
use crate::outcome::{Outcome, Verdict};
use crate::web::grpc;

/// A body before its permit: fields drop in order.
pub(super) struct Streaming<B> {
    body: Pin<Box<B>>,
    held: Answered,
    /// Bytes of the announced length that are still to come; `None` where none was announced.
    left: Option<u64>,
    was_polled: bool,
    /// Of the connection, if it waits for the body.
    waker: Option<Waker>,
}

pub(super) type Polled<D, E> = Poll<Option<Result<Frame<D>, E>>>;

impl<B> Streaming<B> {
    pub(super) fn new(held: Answered, body: B, left: Option<u64>) -> Self {
        Self {
            body: Box::pin(body),
            held,
            left,
            was_polled: false,
            waker: None,
        }
    }

    /// What it is if the connection drops the body now.
    ///
    /// A server over HTTP/1 drops a body that has given all that was announced, and does not ask it for
    /// its end. It never polls one whose length alone was asked for, by HEAD or with a 304.
    fn when_dropped(&self) -> Outcome {
        let is_whole = match self.left {
            Some(left) => left == 0 || !self.was_polled,
            None => false,
        };
        match self.held.verdict {
            Verdict::Failure => Outcome::Failure,
            verdict if is_whole => verdict.into(),
            Verdict::Success | Verdict::Ignored => Outcome::Cancelled,
        }
    }

    /// It has come to its end.
    pub(super) fn end(self) {
        let verdict = self.held.verdict;
        self.end_as(verdict.into());
    }

    /// The connection has dropped it.
    pub(super) fn leave(self) {
        let outcome = self.when_dropped();
        self.end_as(outcome);
    }

    /// It panicked.
    pub(super) fn unwind(self) {
        self.end_as(Outcome::Panicked);
    }

    /// Its time is over; lets the connection see it.
    pub(super) fn expire(mut self) {
        let waker = self.waker.take();
        self.end_as(Outcome::TimedOut);
        if let Some(waker) = waker {
            harmless(|| waker.wake());
        }
    }

    /// The body is gone before its permit is free, even if its destructor panics.
    fn end_as(self, outcome: Outcome) {
        let Self { body, mut held, .. } = self;
        held.means(outcome);
        drop_harmlessly(body);
    }
}

impl<B: Body + 'static> Streaming<B> {
    /// One poll, and whether the body goes on after it.
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> (Polled<B::Data, B::Error>, bool) {
        self.was_polled = true;
        let polled = {
            let _permit = frame::hold_permit();
            self.body.as_mut().poll_frame(cx)
        };
        let goes_on = match &polled {
            Poll::Pending => {
                self.waker = Some(cx.waker().clone());
                true
            }
            Poll::Ready(Some(Ok(frame))) => {
                self.note(frame);
                // Nothing comes after trailers, and not every body says so.
                !frame.is_trailers() && !self.body.is_end_stream()
            }
            Poll::Ready(Some(Err(_))) => {
                self.held.verdict = Verdict::Failure;
                false
            }
            Poll::Ready(None) => false,
        };
        (polled, goes_on)
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    /// Trailers can make a failure of a success, and nothing else: what the head said of the caller's own
    /// mistake, or of a failure, they do not take back.
    fn note(&mut self, frame: &Frame<B::Data>) {
        if let Some(data) = frame.data_ref() {
            let bytes = u64::try_from(data.remaining()).unwrap_or(u64::MAX);
            self.left = self.left.map(|left| left.saturating_sub(bytes));
        }
        let verdict = frame.trailers_ref().and_then(grpc::verdict);
        if (self.held.verdict, verdict) == (Verdict::Success, Some(Verdict::Failure)) {
            self.held.verdict = Verdict::Failure;
        }
    }
}
