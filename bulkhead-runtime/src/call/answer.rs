//! What the runtime asks about a return type, so that the expansion of the attribute needs no
//! branches.
//!
//! A call has two questions about its return type: how to build one from a rejection, and what a
//! returned one means. The expansion answers both with one closure over [`Ask`]; which method it
//! calls there is all that the keys `reject` and `classify` change.

use crate::error::BulkheadError;
use crate::outcome::{FromBulkheadError, Verdict, verdict_of_result};

/// A question about the return type `R`.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub enum Ask<'r, R> {
    Reject(BulkheadError),
    Judge(&'r R),
}

/// The answer; of the same kind as the question.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer<R> {
    Rejected(R),
    Verdict(Verdict),
}

impl<R> Ask<'_, R> {
    /// As the type says.
    #[inline]
    pub fn by_type(self) -> Answer<R>
    where
        R: FromBulkheadError,
    {
        self.answer(R::from_bulkhead_error, R::verdict)
    }

    /// `reject = …`
    #[inline]
    pub fn reject<E, K>(self, reject: impl FnOnce(BulkheadError) -> E) -> Answer<R>
    where
        E: ReturnedBy<R, K>,
    {
        self.answer(|error| reject(error).into_return(), E::default_verdict)
    }

    /// `classify = …`
    #[inline]
    pub fn classify(self, classify: impl FnOnce(&R) -> Verdict) -> Answer<R>
    where
        R: FromBulkheadError,
    {
        self.answer(R::from_bulkhead_error, classify)
    }

    /// Both.
    #[inline]
    pub fn reject_and_classify<E, K>(
        self,
        reject: impl FnOnce(BulkheadError) -> E,
        classify: impl FnOnce(&R) -> Verdict,
    ) -> Answer<R>
    where
        E: ReturnedBy<R, K>,
    {
        self.answer(|error| reject(error).into_return(), classify)
    }

    #[inline]
    fn answer(
        self,
        reject: impl FnOnce(BulkheadError) -> R,
        judge: impl FnOnce(&R) -> Verdict,
    ) -> Answer<R> {
        match self {
            Self::Reject(error) => Answer::Rejected(reject(error)),
            Self::Judge(returned) => Answer::Verdict(judge(returned)),
        }
    }
}

impl<R> Answer<R> {
    #[inline]
    pub(super) fn rejected(self) -> R {
        match self {
            Self::Rejected(returned) => returned,
            Self::Verdict(_) => unreachable!("`Ask::answer` answers what it was asked"),
        }
    }

    #[inline]
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Self::Verdict(verdict) => verdict,
            Self::Rejected(_) => unreachable!("`Ask::answer` answers what it was asked"),
        }
    }
}

/// What a function given as `reject` may return: the error of the `Result`, or the whole return
/// value. `K` keeps the two apart.
#[diagnostic::on_unimplemented(
    message = "`reject` returns `{Self}`, which is neither the error type nor the return type `{R}` of the function",
    label = "this function's result cannot become `{R}`"
)]
#[doc(hidden)]
pub trait ReturnedBy<R, K>: Sized {
    fn into_return(self) -> R;
    fn default_verdict(returned: &R) -> Verdict;
}

#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct AsError;

#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct AsWhole;

impl<T, E> ReturnedBy<Result<T, E>, AsError> for E {
    #[inline]
    fn into_return(self) -> Result<T, E> {
        Err(self)
    }

    #[inline]
    fn default_verdict(returned: &Result<T, E>) -> Verdict {
        verdict_of_result(returned)
    }
}

/// Nothing is known of the type, so whatever it returns counts as a success.
impl<R> ReturnedBy<R, AsWhole> for R {
    #[inline]
    fn into_return(self) -> R {
        self
    }

    #[inline]
    fn default_verdict(_: &R) -> Verdict {
        Verdict::Success
    }
}
