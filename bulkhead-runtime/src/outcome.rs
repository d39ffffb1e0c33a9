//! How a call ended, and what a returned value means.

use std::iter::Sum;

use crate::error::BulkheadError;

/// What a value that a body returned says about the dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a user's `classify` names all of them, and there is no fourth"
)]
pub enum Verdict {
    /// The dependency did its work.
    Success,
    /// The dependency failed.
    Failure,
    /// It says nothing about the dependency: the caller's own mistake, for example.
    Ignored,
}

/// How an admitted call ended; exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success = 0,
    Failure = 1,
    Ignored = 2,
    TimedOut = 3,
    Panicked = 4,
    Cancelled = 5,
    /// It was given a permit and never started, because its breaker had no place for it: no ending, but a
    /// rejection.
    Unstarted = 6,
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Success => Self::Success,
            Verdict::Failure => Self::Failure,
            Verdict::Ignored => Self::Ignored,
        }
    }
}

/// How many admitted calls ended in each way.
///
/// With what is in flight, it is the number of calls that were ever admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Outcomes {
    /// The body returned, and its verdict was [`Verdict::Success`].
    pub success: u64,
    /// The body returned, and its verdict was [`Verdict::Failure`].
    pub failure: u64,
    /// The body returned, and its verdict was [`Verdict::Ignored`].
    pub ignored: u64,
    /// The body was dropped when its `timeout`, or the deadline, was over.
    pub timed_out: u64,
    /// The body panicked; or `classify` did, which looked at what it returned.
    pub panicked: u64,
    /// The caller left while the body ran.
    pub cancelled: u64,
}

impl Outcomes {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.success + self.failure + self.ignored + self.timed_out + self.panicked + self.cancelled
    }
}

impl Sum for Outcomes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            success: sum.success + one.success,
            failure: sum.failure + one.failure,
            ignored: sum.ignored + one.ignored,
            timed_out: sum.timed_out + one.timed_out,
            panicked: sum.panicked + one.panicked,
            cancelled: sum.cancelled + one.cancelled,
        })
    }
}

/// A return type that can carry a rejection.
///
/// A function under [`#[bulkhead]`](macro@crate::bulkhead) returns such a type, or says with `reject = …`
/// how to build its return value. `Result<T, E>` is one whenever `E: From<BulkheadError>`, and with the
/// features `axum`, `actix` and `tonic` so are their responses.
///
/// # Examples
/// ```
/// use bulkhead_runtime::{BulkheadError, FromBulkheadError, Verdict};
///
/// enum Reply { Quote(u32), Busy }
///
/// impl FromBulkheadError for Reply {
///     fn from_bulkhead_error(_: BulkheadError) -> Self {
///         Self::Busy
///     }
///
///     fn verdict(&self) -> Verdict {
///         match self {
///             Self::Quote(_) => Verdict::Success,
///             Self::Busy => Verdict::Failure,
///         }
///     }
/// }
/// # assert_eq!(Reply::Quote(1).verdict(), Verdict::Success);
/// ```
#[diagnostic::on_unimplemented(
    message = "`#[bulkhead]` cannot report a rejection through the return type `{Self}`",
    label = "a rejected call has no value of this type to return",
    note = "return `Result<T, E>` where `E: From<bulkhead_runtime::BulkheadError>`",
    note = "or say how to build the return value: `reject = path::to::function`, a `fn(BulkheadError) -> {Self}`"
)]
pub trait FromBulkheadError: Sized {
    /// What a call returns that may not run, or that ran out of time.
    fn from_bulkhead_error(error: BulkheadError) -> Self;

    /// What a value says that the body returned, unless `classify = …` says otherwise.
    ///
    /// Provided as [`Verdict::Success`].
    fn verdict(&self) -> Verdict {
        Verdict::Success
    }
}

/// `Err` is a failure.
impl<T, E: RejectionError> FromBulkheadError for Result<T, E> {
    #[inline]
    fn from_bulkhead_error(error: BulkheadError) -> Self {
        Err(E::from_rejection(error))
    }

    #[inline]
    fn verdict(&self) -> Verdict {
        verdict_of_result(self)
    }
}

#[inline]
pub(crate) fn verdict_of_result<T, E>(result: &Result<T, E>) -> Verdict {
    if result.is_ok() {
        Verdict::Success
    } else {
        Verdict::Failure
    }
}

/// Another name for `From<BulkheadError>`, so that the compiler can say what is missing.
///
/// Implement `From<BulkheadError>`, and write that as a bound.
#[diagnostic::on_unimplemented(
    message = "`#[bulkhead]` cannot turn a rejection into the error type `{Self}`",
    label = "`{Self}` does not implement `From<bulkhead_runtime::BulkheadError>`",
    note = "implement it (a generic error type takes the bound `{Self}: From<bulkhead_runtime::BulkheadError>`)",
    note = "or, for a type of another crate: `reject = path::to::function`, a `fn(BulkheadError) -> {Self}`"
)]
pub trait RejectionError: Sized {
    #[doc(hidden)]
    fn from_rejection(error: BulkheadError) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<BulkheadError>> RejectionError for E {
    #[inline]
    fn from_rejection(error: BulkheadError) -> Self {
        Self::from(error)
    }
}
