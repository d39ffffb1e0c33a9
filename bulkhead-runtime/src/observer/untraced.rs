//! Without the feature `tracing` no body has a span, and none costs anything.

use crate::admission::Waited;
use crate::error::Origin;

/// Nothing; it stands where the span of a body would be.
#[derive(Debug, Default)]
pub(crate) struct Traced;

impl Traced {
    #[inline]
    pub(crate) fn begin(_: Origin, _: Option<Waited>, _: u8) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn or_of_the_caller(self) -> Self {
        self
    }

    #[inline]
    #[expect(clippy::unused_self, reason = "as of the one with a span")]
    pub(crate) fn around<T>(&self, poll: impl FnOnce() -> T) -> T {
        poll()
    }

    #[inline]
    #[expect(clippy::unused_self, reason = "as of the one with a span")]
    pub(crate) fn close(self) {}
}
