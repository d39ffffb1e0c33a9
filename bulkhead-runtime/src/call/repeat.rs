//! What the expansion asks about arguments and returned values, where a call may be tried again or answered by a
//! fallback.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

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
pub struct Returned<'r, R>(pub &'r R);

impl<T, E> Returned<'_, Result<T, E>> {
    /// What succeeded is never tried again.
    #[inline]
    pub fn is(self, when: impl FnOnce(&E) -> bool) -> bool {
        self.0.as_ref().is_err_and(when)
    }
}

/// See [`Returned`].
#[doc(hidden)]
pub trait ReturnedWhole<R> {
    fn is(self, when: impl FnOnce(&R) -> bool) -> bool;
}

impl<R> ReturnedWhole<R> for Returned<'_, R> {
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

/// An argument once more: for another attempt, or for a fallback.
#[inline]
pub fn again<T: GivenAgain>(argument: &T) -> T {
    argument.given_again()
}

/// Another name for `Clone`, so that the compiler can say what it is for.
#[diagnostic::on_unimplemented(
    message = "`retry` and `fallback` take clones of the arguments, and `{Self}` has none",
    label = "this argument would be needed more than once",
    note = "derive or implement `Clone` for it (a generic type takes the bound `{Self}: Clone`), or take it as `Arc<{Self}>`",
    note = "an argument that only a `fallback` names can also be left out of its call"
)]
#[doc(hidden)]
pub trait GivenAgain: Sized {
    fn given_again(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> GivenAgain for T {
    #[inline]
    fn given_again(&self) -> Self {
        self.clone()
    }
}

/// `self` once more. It has no other name, so it cannot be cloned.
#[inline]
pub fn receive_again<T: ReceivedAgain>(_: &T) {}

/// Another name for `Copy`.
#[diagnostic::on_unimplemented(
    message = "`retry` runs the body again, and `self` is given to it only once: `{Self}` is not `Copy`",
    label = "this `self` is gone after the first attempt",
    note = "take `&self`, or make this a function with an argument in its place, such as `this: Arc<Self>`"
)]
#[doc(hidden)]
pub trait ReceivedAgain {}

#[diagnostic::do_not_recommend]
impl<T: Copy> ReceivedAgain for T {}

/// The call of a fallback, which is to answer in the place of a function.
#[inline]
pub fn instead<R, F: AnswersFor<R>>(_: Returns<R>, call: F) -> Answered<R, F> {
    Answered {
        call,
        poll: F::poll_answer,
    }
}

/// What a function returns, where only the type is asked for.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct Returns<R>(PhantomData<fn() -> R>);

impl<R> Unanswered<R> {
    #[inline]
    pub fn returns(&self) -> Returns<R> {
        Returns(PhantomData)
    }
}

/// Another name for `Future<Output = R>`.
#[diagnostic::on_unimplemented(
    message = "`fallback` takes the call of an async function that returns `{R}`, as the function itself does",
    label = "this call is no future of `{R}`",
    note = "what has nothing to wait for is given as `std::future::ready(…)`"
)]
#[doc(hidden)]
pub trait AnswersFor<R> {
    fn poll_answer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R>;
}

#[diagnostic::do_not_recommend]
impl<R, F: Future<Output = R>> AnswersFor<R> for F {
    #[inline]
    fn poll_answer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        self.poll(cx)
    }
}

pin_project! {
    /// A future whatever the call is. What is none is refused by [`instead`], and by nothing else: a bound here
    /// would be a second error, in a place where nobody can do anything about it.
    #[doc(hidden)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Answered<R, F> {
        #[pin]
        call: F,
        poll: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<R>,
    }
}

impl<R, F> Future for Answered<R, F> {
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        (this.poll)(this.call, cx)
    }
}

impl<R, F> fmt::Debug for Answered<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answered").finish_non_exhaustive()
    }
}
