//! A span for `tracing` around each poll of a body.
//!
//! While nobody wants it there is none: nothing is allocated, and neither the clock nor the frame is asked.

use std::mem;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Level, Span, debug_span, span};

use super::events::millis;
use crate::admission::Waited;
use crate::error::Origin;
use crate::foreign::{drop_harmlessly, harmless};
use crate::frame;
use crate::function::Function;
use crate::time;

/// The span of one body, if anybody wants it; closed when it is dropped.
///
/// In a box: a future shall grow by no more than a pointer for it.
#[derive(Debug, Default)]
pub(crate) struct Traced(Option<Box<Span>>);

impl Traced {
    /// Of a body that starts now, in the frame that it will be polled in.
    #[inline]
    pub(crate) fn begin(origin: Origin, waited: Option<Waited>, attempt: u8) -> Self {
        if Level::DEBUG <= STATIC_MAX_LEVEL && Level::DEBUG <= LevelFilter::current() {
            Self::begin_if_wanted(origin, waited, attempt)
        } else {
            Self(None)
        }
    }

    /// For a body that is polled in another task: without a span of its own it is polled in that of its caller.
    pub(crate) fn or_of_the_caller(mut self) -> Self {
        if self.0.is_none() {
            harmless(|| {
                let caller = Span::current();
                if !caller.is_none() {
                    self.0 = Some(Box::new(caller));
                }
            });
        }
        self
    }

    /// Polls the body in it.
    #[inline]
    pub(crate) fn around<T>(&self, poll: impl FnOnce() -> T) -> T {
        let _entered = self.0.as_deref().map(Entered::enter);
        poll()
    }

    /// The body is over.
    #[inline]
    pub(crate) fn close(self) {
        drop(self);
    }

    #[cold]
    #[inline(never)]
    fn begin_if_wanted(origin: Origin, waited: Option<Waited>, attempt: u8) -> Self {
        let mut traced = Self(None);
        harmless(|| {
            // The values are made only if the span is.
            let span = debug_span!(
                target: "bulkhead_runtime::call",
                "call",
                partition = origin.partition.name(),
                function = origin.function.map(Function::path),
                waited_ms = waited.map_or(0, |waited| millis(waited.time())),
                deadline_left_ms = deadline_left_ms(),
                attempt,
            );
            if !span.is_disabled() {
                traced.0 = Some(Box::new(span));
            }
        });
        traced
    }
}

/// Whoever asks sets a deadline that was left open: here its body starts, so it runs from here.
fn deadline_left_ms() -> Option<u64> {
    let deadline = frame::deadline()?;
    Some(millis(deadline.saturating_duration_since(time::now())))
}

impl Drop for Traced {
    #[inline]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        fn close(span: Box<Span>) {
            drop_harmlessly(span);
        }
        if let Some(span) = self.0.take() {
            close(span);
        }
    }
}

/// A span that is entered on this thread; left when it is dropped, also when the poll unwinds.
struct Entered<'s>(Option<span::Entered<'s>>);

impl<'s> Entered<'s> {
    #[cold]
    #[inline(never)]
    fn enter(span: &'s Span) -> Self {
        let mut entered = Self(None);
        harmless(|| entered.0 = Some(span.enter()));
        entered
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        drop_harmlessly(mem::take(&mut self.0));
    }
}
