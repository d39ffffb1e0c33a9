//! The bodies of a call that may have several, and what becomes of each when its caller leaves.

use std::future::Future;
use std::marker::PhantomData;

use super::repeat::Returned;
use super::run::{PlainAttempt, SettlingAttempt};

/// The bodies of a call, one for each attempt.
#[doc(hidden)]
pub trait Bodies {
    type Others: Others;

    /// The first, and what makes the others: so it is kept in one place, and moved once.
    fn split(self) -> (<Self::Others as Others>::Body, Self::Others);
}

/// The bodies of the attempts after the first.
#[doc(hidden)]
pub trait Others {
    type Body: Body;

    /// Whether there can be any.
    const EXIST: bool;

    fn next(&mut self) -> Self::Body;

    /// Whether another attempt makes sense after this.
    fn is_transient(&self, returned: &<Self::Body as Body>::Output) -> bool;
}

/// A body, and what becomes of it when its caller leaves.
#[doc(hidden)]
pub trait Body {
    type Output;
    type Attempt;

    fn attempt(self) -> Self::Attempt;
}

/// One body, for a call that is made once.
#[doc(hidden)]
#[derive(Debug)]
pub struct Once<B>(B);

impl<B: Body> Once<B> {
    #[inline]
    pub fn new(body: B) -> Self {
        Self(body)
    }
}

impl<B: Body> Bodies for Once<B> {
    type Others = NoOthers<B>;

    #[inline]
    fn split(self) -> (B, NoOthers<B>) {
        (self.0, NoOthers(PhantomData))
    }
}

/// The others of a call that is made once.
#[doc(hidden)]
#[derive(Debug)]
pub struct NoOthers<B>(PhantomData<fn() -> B>);

impl<B: Body> Others for NoOthers<B> {
    type Body = B;

    const EXIST: bool = false;

    fn next(&mut self) -> B {
        unreachable!("a call that is made once asks for no other body")
    }

    fn is_transient(&self, _: &B::Output) -> bool {
        false
    }
}

/// As many bodies as it takes, and what is worth another.
#[doc(hidden)]
#[derive(Debug)]
pub struct Again<M, W> {
    make: M,
    when: W,
}

impl<M, W, B> Again<M, W>
where
    M: FnMut() -> B,
    B: Body,
    W: Fn(Returned<'_, B::Output>) -> bool,
{
    #[inline]
    pub fn new(make: M, when: W) -> Self {
        Self { make, when }
    }
}

impl<M, W, B> Bodies for Again<M, W>
where
    M: FnMut() -> B,
    B: Body,
    W: Fn(Returned<'_, B::Output>) -> bool,
{
    type Others = Self;

    #[inline]
    fn split(mut self) -> (B, Self) {
        ((self.make)(), self)
    }
}

impl<M, W, B> Others for Again<M, W>
where
    M: FnMut() -> B,
    B: Body,
    W: Fn(Returned<'_, B::Output>) -> bool,
{
    type Body = B;

    const EXIST: bool = true;

    fn next(&mut self) -> B {
        (self.make)()
    }

    fn is_transient(&self, returned: &B::Output) -> bool {
        (self.when)(Returned(returned))
    }
}

/// A body that is dropped with its caller.
#[doc(hidden)]
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros builds it"
)]
pub struct Stays<F>(pub F);

impl<F: Future> Body for Stays<F> {
    type Output = F::Output;
    type Attempt = PlainAttempt<F>;

    #[inline]
    fn attempt(self) -> PlainAttempt<F> {
        PlainAttempt::new(self.0)
    }
}

/// A body that, once it has started, runs to its end although its caller has left.
#[doc(hidden)]
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros builds it"
)]
pub struct Settles<F>(pub F);

impl<F: Future<Output: Send> + Send + 'static> Body for Settles<F> {
    type Output = F::Output;
    type Attempt = SettlingAttempt<F>;

    #[inline]
    fn attempt(self) -> SettlingAttempt<F> {
        SettlingAttempt::new(self.0)
    }
}
