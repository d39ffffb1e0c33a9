//! What answers in the place of a call that failed: nothing, or another call.

use std::future::{Future, Pending};

use crate::call::repeat::Unanswered;

/// What answers in the place of a call that failed, if anything does.
#[doc(hidden)]
pub trait Fallback<R> {
    type Call: Future<Output = R>;

    /// Whether anything can.
    const EXISTS: bool;

    /// The value comes back where nothing answers for it.
    fn call(&mut self, failed: R) -> Result<Self::Call, R>;
}

#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct Nothing;

impl<R> Fallback<R> for Nothing {
    type Call = Pending<R>;

    const EXISTS: bool = false;

    fn call(&mut self, failed: R) -> Result<Pending<R>, R> {
        Err(failed)
    }
}

/// Another call, and what it needs of the arguments.
#[doc(hidden)]
#[derive(Debug)]
pub struct Kept<K, L>(Option<(K, L)>);

impl<K, L> Kept<K, L> {
    #[inline]
    pub(super) fn new(kept: K, call: L) -> Self {
        Self(Some((kept, call)))
    }
}

impl<R, K, L, F> Fallback<R> for Kept<K, L>
where
    L: FnOnce(K, Unanswered<R>) -> Result<F, R>,
    F: Future<Output = R>,
{
    type Call = F;

    const EXISTS: bool = true;

    fn call(&mut self, failed: R) -> Result<F, R> {
        match self.0.take() {
            Some((kept, call)) => call(kept, Unanswered(failed)),
            None => Err(failed),
        }
    }
}
