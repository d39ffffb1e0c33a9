//! One attempt of a call that may have several, or a fallback, or a body that settles.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::error::BulkheadError;
use crate::frame::Setter;
use crate::function::Function;
use crate::outcome::Verdict;
use crate::partition::Live;
use crate::time::{self, Instant, Stamp};

/// Which attempt of its call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    number: u8,
    /// Whether there may be another.
    is_of_owner: bool,
}

impl Attempt {
    /// The one of a call that never tries again.
    pub(crate) const ONLY: Self = Self {
        number: 1,
        is_of_owner: false,
    };

    /// Counted from 1.
    pub(super) fn new(number: u8, is_of_owner: bool) -> Self {
        Self {
            number,
            is_of_owner,
        }
    }

    pub(crate) const fn number(self) -> u8 {
        self.number
    }

    pub(crate) const fn is_retry(self) -> bool {
        self.number > 1
    }

    /// It has its permit.
    #[inline]
    pub(super) fn admitted(self, live: &'static Live) {
        if self.is_of_owner {
            self.tell(live);
        }
    }

    #[cold]
    fn tell(self, live: &'static Live) {
        if self.is_retry() {
            live.aftermath().retry_made();
        } else {
            live.aftermath().deposit(Stamp::of(time::now()));
        }
    }
}

impl Default for Attempt {
    fn default() -> Self {
        Self::ONLY
    }
}

/// What an attempt begins with. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Start {
    pub(super) attempt: Attempt,
    pub(super) longest: Option<Duration>,
    /// The deadline that the call has set by itself.
    pub(super) own: Option<(Instant, Setter)>,
}

/// How an attempt ended.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub enum AttemptEnd<R> {
    Returned(R, Verdict),
    /// The body never ran.
    Rejected(BulkheadError),
    /// The body ran for its whole `timeout`.
    TimedOut(BulkheadError),
    /// The deadline passed while the body ran.
    Late(BulkheadError),
}

impl<R> AttemptEnd<R> {
    pub(super) fn of(result: Result<(R, Verdict), BulkheadError>) -> Self {
        match result {
            Ok((returned, verdict)) => Self::Returned(returned, verdict),
            Err(error @ BulkheadError::CallTimeout(_)) => Self::TimedOut(error),
            Err(error) if error.body_ran() => Self::Late(error),
            Err(error) => Self::Rejected(error),
        }
    }
}

/// An attempt under way.
#[doc(hidden)]
pub trait Polled<R, J> {
    /// Before its first poll.
    fn start(self: Pin<&mut Self>, start: Start);

    fn poll_attempt(
        self: Pin<&mut Self>,
        function: &'static Function,
        judge: &J,
        cx: &mut Context<'_>,
    ) -> Poll<AttemptEnd<R>>;
}
