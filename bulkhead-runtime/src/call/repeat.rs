//! What the expansion asks about arguments and returned values, where a call may be tried again or answered by a
//! fallback.

/// A value that was returned, on its way to `when`.
///
/// Of a `Result` that looks at the error, of any other type at the whole. An inherent method comes before that of a
/// trait, so the type decides and not its spelling.
#[doc(hidden)]
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros names it"
)]
pub struct Seen<'r, R>(pub &'r R);

impl<T, E> Seen<'_, Result<T, E>> {
    /// What succeeded is never tried again.
    #[inline]
    pub fn is(self, when: impl FnOnce(&E) -> bool) -> bool {
        self.0.as_ref().is_err_and(when)
    }
}

/// See [`Seen`].
#[doc(hidden)]
pub trait SeenWhole<R> {
    fn is(self, when: impl FnOnce(&R) -> bool) -> bool;
}

impl<R> SeenWhole<R> for Seen<'_, R> {
    #[inline]
    fn is(self, when: impl FnOnce(&R) -> bool) -> bool {
        when(self.0)
    }
}

/// A failure on its way to a fallback: of a `Result` the error, of any other type the whole.
#[doc(hidden)]
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros names it"
)]
pub struct Unanswered<R>(pub R);

impl<T, E> Unanswered<Result<T, E>> {
    /// # Errors
    /// An `Ok` that `classify` calls a failure has none, and comes back.
    #[inline]
    pub fn error(self) -> Result<E, Result<T, E>> {
        match self.0 {
            Ok(_) => Err(self.0),
            Err(error) => Ok(error),
        }
    }
}

/// See [`Unanswered`].
#[doc(hidden)]
pub trait UnansweredWhole<R> {
    /// # Errors
    /// Never: the whole is what a fallback gets.
    fn error(self) -> Result<R, R>;
}

impl<R> UnansweredWhole<R> for Unanswered<R> {
    #[inline]
    fn error(self) -> Result<R, R> {
        Ok(self.0)
    }
}

/// An argument once more.
#[inline]
pub fn again<T: Clone>(argument: &T) -> T {
    argument.clone()
}
