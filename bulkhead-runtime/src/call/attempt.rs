//! One attempt of a call that may have several, or a fallback, or a body that settles.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::answer::{Answer, Ask};
use super::repeat::Returned;
use super::run::{Run, SettlingAttempt, Terms};
use super::side::Watched;
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
    pub(super) fn new(number: u32, is_of_owner: bool) -> Self {
        Self {
            number: u8::try_from(number).unwrap_or(u8::MAX),
            is_of_owner,
        }
    }

    #[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "nobody is told"))]
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
        PlainAttempt {
            run: Run::new(self.0),
        }
    }
}

pin_project_lite::pin_project! {
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct PlainAttempt<F> {
        #[pin]
        run: Run<F, Watched>,
    }
}

impl<F, J> Polled<F::Output, J> for PlainAttempt<F>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    fn start(self: Pin<&mut Self>, start: Start) {
        self.project().run.start(start);
    }

    fn poll_attempt(
        self: Pin<&mut Self>,
        function: &'static Function,
        judge: &J,
        cx: &mut Context<'_>,
    ) -> Poll<AttemptEnd<F::Output>> {
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        let terms = Terms::of_function(function);
        let polled = self.project().run.poll_judged(terms, verdict, cx);
        polled.map(AttemptEnd::of)
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
