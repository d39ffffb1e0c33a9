//! The future around a function that may try again, fall back, or settle: all attempts of one call, and what comes
//! after them.
//!
//! The deadline is that of the whole: it is set once, and every attempt, every backoff and the fallback go by it.

mod fallback;

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use fallback::{Fallback, Kept, Nothing};

use super::answer::{Answer, Ask};
use super::attempt::{Attempt, AttemptEnd, Polled, Start};
use super::bodies::{Bodies, Body, Others};
use super::contract::Bounds;
use super::repeat::Unanswered;
use crate::aftermath::{BackingOff, InFallback};
use crate::error::BulkheadError;
use crate::frame::{self, Setter};
use crate::function::Function;
use crate::observer;
use crate::outcome::Verdict;
use crate::partition::Ongoing;
use crate::policy::MIN_DURATION;
use crate::retry::backoff;
use crate::time::{self, Instant, Stamp, Timer};

type Output<O> = <<O as Others>::Body as Body>::Output;
type OutputOf<A> = Output<<A as Bodies>::Others>;

/// As its parameters follow from these.
type Whole<O, J, L> = WholeGuarded<
    O,
    J,
    L,
    Output<O>,
    <<O as Others>::Body as Body>::Attempt,
    <L as Fallback<Output<O>>>::Call,
>;

/// Guards a call that may have several attempts.
#[inline]
pub fn guard_whole<A, J>(
    function: &'static Function,
    bodies: A,
    judge: J,
) -> Whole<A::Others, J, Nothing>
where
    A: Bodies,
    J: Fn(Ask<'_, OutputOf<A>>) -> Answer<OutputOf<A>>,
{
    WholeGuarded::new(function, bodies, judge, Nothing)
}

/// The same with a fallback. `kept` is what that needs of the arguments; where `fallback` finds nothing to answer for,
/// it gives the value back.
#[inline]
pub fn guard_whole_or<A, J, K, L, F>(
    function: &'static Function,
    kept: K,
    bodies: A,
    judge: J,
    fallback: L,
) -> Whole<A::Others, J, Kept<K, L>>
where
    A: Bodies,
    J: Fn(Ask<'_, OutputOf<A>>) -> Answer<OutputOf<A>>,
    L: FnOnce(K, Unanswered<OutputOf<A>>) -> Result<F, OutputOf<A>>,
    F: Future<Output = OutputOf<A>>,
{
    WholeGuarded::new(function, bodies, judge, Kept::new(kept, fallback))
}

pin_project! {
    /// See [`guard_whole`].
    ///
    /// What it holds are parameters of its own, and nothing that follows from the closures in `O` and `L`. Whether it is
    /// `Send` is asked where no lifetime is known; rustc then takes the `'static` in the `Box<dyn Trait>` that a closure
    /// is given for another one than that in the function's output, and says that the closure is "not general enough".
    #[doc(hidden)]
    #[must_use = "futures do nothing unless polled"]
    pub struct WholeGuarded<O, J, L, R, T, F> {
        // What runs stands first: fields drop in order, and it is gone before the gauges say so.
        #[pin]
        attempt: Option<T>,
        #[pin]
        answer: Option<F>,
        #[pin]
        timer: Timer,
        stage: Stage<R>,
        bounds: Option<Bounds>,
        // The deadline that it has set by itself.
        own: Option<(Instant, Setter)>,
        // Whether it is the one that retries.
        is_owner: bool,
        others: O,
        fallback: L,
        function: &'static Function,
        judge: J,
        // From the first poll to the end; gone last, when nothing of it is left.
        ongoing: Option<Ongoing>,
    }
}

/// | stage | owns | moves to |
/// |---|---|---|
/// | fresh | nothing | attempting |
/// | attempting | what the attempt owns | backing off, in fallback, over |
/// | backing off | a place among those that back off | attempting, in fallback, over |
/// | in fallback | a place among those in a fallback | over |
/// | over | nothing | — |
enum Stage<R> {
    Fresh,
    Attempting {
        number: u8,
        /// What the attempt before came to.
        before: Option<Failed<R>>,
    },
    BackingOff(Retry<R>, BackingOff),
    InFallback {
        since: Instant,
        body_ran: bool,
        was_rejected: bool,
        in_fallback: InFallback,
    },
    Over,
}

/// What an attempt came to that another attempt or a fallback may make good.
struct Failed<R> {
    /// What the caller sees otherwise.
    value: R,
    body_ran: bool,
    may_fall_back: bool,
    /// It never ran, and the calls around it have not been told: it is nothing to them if a fallback answers.
    was_rejected: bool,
}

/// An attempt that is to come.
struct Retry<R> {
    number: u8,
    at: Instant,
    /// What the attempt before came to.
    before: Failed<R>,
}

/// What becomes of a call after an attempt.
enum Next<R> {
    Over(R),
    Retry(Retry<R>),
    FallBack(Failed<R>),
}

impl<O: Others, J, L: Fallback<Output<O>>> Whole<O, J, L> {
    fn new(
        function: &'static Function,
        bodies: impl Bodies<Others = O>,
        judge: J,
        fallback: L,
    ) -> Self {
        let (first, others) = bodies.split();
        Self {
            attempt: Some(first.attempt()),
            answer: None,
            timer: Timer::default(),
            stage: Stage::Fresh,
            bounds: None,
            own: None,
            is_owner: false,
            others,
            fallback,
            function,
            judge,
            ongoing: None,
        }
    }
}

impl<O, J, L> Future for Whole<O, J, L>
where
    O: Others,
    <O::Body as Body>::Attempt: Polled<Output<O>, J>,
    J: Fn(Ask<'_, Output<O>>) -> Answer<Output<O>>,
    L: Fallback<Output<O>>,
{
    type Output = Output<O>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output<O>> {
        if let Stage::Fresh = self.stage {
            self.as_mut().begin();
        }
        let value = ready!(self.as_mut().poll_on(cx));
        *self.project().ongoing = None;
        Poll::Ready(value)
    }
}

impl<O, J, L> Whole<O, J, L>
where
    O: Others,
    <O::Body as Body>::Attempt: Polled<Output<O>, J>,
    J: Fn(Ask<'_, Output<O>>) -> Answer<Output<O>>,
    L: Fallback<Output<O>>,
{
    fn begin(mut self: Pin<&mut Self>) {
        let this = self.as_mut().project();
        if O::EXIST || L::EXISTS {
            *this.ongoing = this.function.live().begin();
        }
        let bounds = this.bounds.insert(Bounds::of(this.function));
        *this.own = bounds.own();
        *this.is_owner = O::EXIST && !frame::is_retrying();
        self.start(1, None);
    }

    /// An attempt begins, whose body is there.
    fn start(self: Pin<&mut Self>, number: u8, before: Option<Failed<Output<O>>>) {
        let mut this = self.project();
        let attempt = this.attempt.as_mut().as_pin_mut();
        attempt.expect("its body is there").start(Start {
            attempt: Attempt::new(number, *this.is_owner),
            longest: this.function.longest(),
            own: *this.own,
        });
        *this.stage = Stage::Attempting { number, before };
    }

    /// One poll of a call that has begun, through as many stages as it goes.
    fn poll_on(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output<O>> {
        let _set = self.bounds.and_then(Bounds::set);
        loop {
            let next = match self.stage {
                Stage::Attempting { .. } => ready!(self.as_mut().poll_attempt(cx)),
                Stage::BackingOff(..) => match ready!(self.as_mut().poll_backoff(cx)) {
                    Some(failed) => Next::FallBack(failed),
                    None => continue,
                },
                Stage::InFallback { .. } => return self.poll_fallback(cx),
                Stage::Fresh | Stage::Over => panic!("polled again after it had ended"),
            };
            match next {
                Next::Over(value) => return Poll::Ready(value),
                Next::Retry(retry) => self.as_mut().back_off(retry),
                Next::FallBack(failed) => {
                    if let Some(value) = self.as_mut().fall_back(failed) {
                        return Poll::Ready(value);
                    }
                }
            }
        }
    }

    fn poll_attempt(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next<Output<O>>> {
        let mut this = self.project();
        let function = *this.function;
        let Stage::Attempting { number, before } = this.stage else {
            unreachable!("an attempt is under way")
        };
        let number = *number;
        let attempt = this.attempt.as_mut().as_pin_mut();
        let attempt = attempt.expect("its body is there");
        let ended = {
            let _owner = frame::retrying(*this.is_owner);
            ready!(attempt.poll_attempt(function, this.judge, cx))
        };
        let before = before.take();
        *this.stage = Stage::Over;
        this.attempt.set(None);
        let reject = |error| (this.judge)(Ask::Reject(error)).rejected();
        let (failed, may_retry) = match ended {
            AttemptEnd::Returned(value, Verdict::Success) => return Poll::Ready(Next::Over(value)),
            AttemptEnd::Returned(value, verdict) => (
                Failed {
                    value,
                    body_ran: true,
                    may_fall_back: verdict == Verdict::Failure,
                    was_rejected: false,
                },
                true,
            ),
            AttemptEnd::TimedOut(error) => (Failed::by(reject(error), true), true),
            AttemptEnd::Late(error) => (Failed::by(reject(error), true), false),
            // The failure before is what there is to tell of; no other attempt would find more room.
            AttemptEnd::Rejected(error) => (
                before.unwrap_or_else(|| {
                    if L::EXISTS {
                        frame::Ended::forget_rejected();
                    }
                    Failed {
                        was_rejected: L::EXISTS,
                        ..Failed::by(reject(error), false)
                    }
                }),
                false,
            ),
        };
        let may_retry = may_retry && *this.is_owner && this.others.is_transient(&failed.value);
        let at = may_retry
            .then(|| next_attempt_at(function, number))
            .flatten();
        Poll::Ready(match at {
            Some(at) => Next::Retry(Retry {
                number: number + 1,
                at,
                before: failed,
            }),
            None => Next::FallBack(failed),
        })
    }

    fn back_off(self: Pin<&mut Self>, retry: Retry<Output<O>>) {
        let this = self.project();
        let aftermath = this.function.live().aftermath();
        *this.stage = Stage::BackingOff(retry, aftermath.back_off());
    }

    /// Ready when the next attempt is to come; with the failure before, if none is.
    fn poll_backoff(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Failed<Output<O>>>> {
        let mut this = self.as_mut().project();
        let Stage::BackingOff(retry, backing_off) = this.stage else {
            unreachable!("it backs off")
        };
        backing_off.watch(cx.waker());
        let is_closed = this.function.live().gate.is_closed();
        if !is_closed {
            ready!(this.timer.poll_until(retry.at, cx));
        }
        let Stage::BackingOff(retry, backing_off) = mem::replace(this.stage, Stage::Over) else {
            unreachable!("it backed off in the lines above")
        };
        let Retry { number, before, .. } = retry;
        if is_closed {
            return Poll::Ready(Some(before));
        }
        // Clones are foreign code: one that panics leaves a backoff that was given up.
        let attempt = this.others.next().attempt();
        backing_off.go_on();
        this.attempt.set(Some(attempt));
        self.start(number, Some(before));
        Poll::Ready(None)
    }

    /// Begins the fallback; the value that stays where there is none.
    fn fall_back(self: Pin<&mut Self>, failed: Failed<Output<O>>) -> Option<Output<O>> {
        let mut this = self.project();
        *this.stage = Stage::Over;
        if !failed.may_fall_back {
            return Some(failed.value);
        }
        match this.fallback.call(failed.value) {
            Err(value) => {
                if failed.was_rejected {
                    frame::Ended::note_rejected();
                }
                Some(value)
            }
            Ok(answer) => {
                this.answer.set(Some(answer));
                *this.stage = Stage::InFallback {
                    since: time::now(),
                    body_ran: failed.body_ran,
                    was_rejected: failed.was_rejected,
                    in_fallback: this.function.live().aftermath().fall_back(),
                };
                None
            }
        }
    }

    fn poll_fallback(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Output<O>> {
        let mut this = self.project();
        let answer = this.answer.as_mut().as_pin_mut();
        let answer = answer.expect("there until it has answered");
        let polled = {
            // Part of a call that was let in: what it calls is let in too, while partitions drain.
            let _let_in = this.ongoing.is_some().then(frame::hold_permit);
            answer.poll(cx)
        };
        if polled.is_pending() {
            let Some(deadline) = frame::deadline() else {
                return Poll::Pending;
            };
            ready!(this.timer.poll_until(deadline, cx));
        }
        this.answer.set(None);
        let Stage::InFallback {
            since,
            body_ran,
            was_rejected,
            in_fallback,
        } = mem::replace(this.stage, Stage::Over)
        else {
            unreachable!("it is in its fallback")
        };
        let Poll::Ready(value) = polled else {
            drop(in_fallback);
            frame::Ended::note_stopped(frame::setter());
            let live = this.function.live();
            let took = time::now().saturating_duration_since(since);
            let origin = this.function.origin(live);
            let error = BulkheadError::stopped_in_fallback(origin, body_ran, took);
            return Poll::Ready((this.judge)(Ask::Reject(error)).rejected());
        };
        let verdict = (this.judge)(Ask::Judge(&value)).verdict();
        if was_rejected && verdict == Verdict::Failure {
            frame::Ended::note_rejected();
        }
        in_fallback.end(verdict != Verdict::Failure);
        Poll::Ready(value)
    }
}

impl<R> Failed<R> {
    /// By an error of ours.
    fn by(value: R, body_ran: bool) -> Self {
        Self {
            value,
            body_ran,
            may_fall_back: true,
            was_rejected: false,
        }
    }
}

/// When the attempt after the `number`th comes: if one is left, there is time for it, and the budget affords it.
fn next_attempt_at(function: &'static Function, number: u8) -> Option<Instant> {
    let policy = function.retry()?;
    let live = function.live();
    let number = u32::from(number);
    if number >= policy.attempts() || live.gate.is_closed() {
        return None;
    }
    let now = time::now();
    let limit = policy.longest_backoff(number - 1);
    let limit = match frame::deadline() {
        None => limit,
        Some(deadline) => {
            let latest = live.gate.latest_start(deadline);
            let left = latest.saturating_duration_since(now);
            if left < MIN_DURATION {
                live.aftermath().out_of_time();
                return None;
            }
            limit.min(left)
        }
    };
    if !live.aftermath().withdraw(Stamp::of(now)) {
        observer::budget_spent(live, function);
        return None;
    }
    Some(time::after(now, backoff::draw(limit)))
}

impl<O, J, L, R, T, F> fmt::Debug for WholeGuarded<O, J, L, R, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WholeGuarded")
            .field("function", &self.function.path())
            .finish_non_exhaustive()
    }
}
