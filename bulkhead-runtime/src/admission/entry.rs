//! A call on its way in: at once, through the queue, or not at all.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::flight::Flight;
use super::gate::{Arrived, Gate, Obstacle};
use super::rejection::Rejection;
use super::waiter::Waiter;
use super::waitlist::{Bound, Operation, Standing};
use crate::time::{self, Instant, Timer};

/// How long a call is ready to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Until then, in the place of the `wait` of the policy.
    pub(crate) until: Option<Instant>,
    /// When the call has to be done.
    pub(crate) deadline: Option<Instant>,
}

/// Whether a call that finds no room queues.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Queues {
    Never,
    As(Operation),
}

/// The way in, poll by poll.
///
/// | state | owns | moves to |
/// |---|---|---|
/// | fresh | nothing | queued, done |
/// | queued | a place in the queue, perhaps a grant | done |
/// | done | nothing | — |
#[derive(Debug, Default)]
pub(crate) enum Entry<'g> {
    #[default]
    Fresh,
    Queued(Waiter<'g>),
    Done,
}

/// A call that is in.
#[derive(Debug)]
pub(crate) struct Passage<'g> {
    pub(crate) flight: Flight<'g>,
    /// Set if it had to wait: since when, and until when. Otherwise nobody read the clock.
    pub(crate) waited: Option<Waited>,
}

/// The time in the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) since: Instant,
    /// The claim.
    pub(crate) until: Instant,
}

impl Waited {
    pub(crate) fn time(self) -> Duration {
        self.until.saturating_duration_since(self.since)
    }
}

impl Patience {
    fn is_usual(self) -> bool {
        self.until.is_none() && self.deadline.is_none()
    }
}

impl<'g> Entry<'g> {
    /// In, where there is room and nothing has to be looked at; `None` only means that it is not so.
    #[inline]
    pub(crate) fn enter_at_once(
        &mut self,
        gate: &'g Gate,
        patience: Patience,
    ) -> Option<Passage<'g>> {
        if let Self::Fresh = self
            && patience.is_usual()
            && let Some(flight) = gate.enter_at_once()
        {
            *self = Self::Done;
            return Some(Passage::at_once(flight));
        }
        None
    }

    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self, Self::Fresh)
    }

    /// Leaves the queue, where it waits, because a breaker has opened.
    #[cold]
    pub(crate) fn turn_away(&mut self) -> Option<Rejection> {
        match std::mem::replace(self, Self::Done) {
            Self::Queued(waiter) => Some(waiter.turn_away()),
            before => {
                *self = before;
                None
            }
        }
    }

    /// The way in where [`enter_at_once`](Self::enter_at_once) is not enough. `queues` is asked once, if there is no
    /// room, and `standing` if the usual rejection does not come first.
    ///
    /// Cancel safety: dropping the entry leaves the queue, and hands a grant on to the next.
    ///
    /// # Panics
    /// When the call has to wait outside a tokio runtime with time enabled; and when polled again
    /// after it was ready.
    #[inline(never)]
    pub(crate) fn poll(
        &mut self,
        gate: &'g Gate,
        patience: Patience,
        standing: fn() -> Standing,
        queues: impl FnOnce() -> Queues,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Rejection>> {
        let result = match self {
            // The place is kept before the timer is armed: outside a runtime that panics, and the
            // drop of the waiter must find it in the queue.
            Self::Fresh => match self.arrive(gate, patience, standing, queues, cx) {
                Arrival::Waits(waiter) => ready!(waiter.poll_time(timer, cx)),
                Arrival::Ready(result) => result,
            },
            Self::Queued(waiter) => ready!(waiter.poll(timer, cx)),
            Self::Done => panic!("polled again after it had ended"),
        };
        *self = Self::Done;
        Poll::Ready(result)
    }

    /// Joins the queue, unless it is in or out at once.
    fn arrive(
        &mut self,
        gate: &'g Gate,
        patience: Patience,
        standing: fn() -> Standing,
        queues: impl FnOnce() -> Queues,
        cx: &Context<'_>,
    ) -> Arrival<'_, 'g> {
        if patience.is_usual()
            && let Some(rejection) = gate.reject_at_once()
        {
            return Arrival::Ready(Err(rejection));
        }
        let since = time::now();
        let latest = patience.deadline.map(|by| gate.latest_start(by));
        let end = patience.until.into_iter().chain(latest).min();
        if end.is_some_and(|end| end <= since) {
            let entered = gate.enter_despite(Obstacle::Spent, standing());
            return Arrival::Ready(entered.map(Passage::at_once));
        }
        if let Some(flight) = gate.enter_at_once() {
            return Arrival::Ready(Ok(Passage::at_once(flight)));
        }
        let Queues::As(operation) = queues() else {
            return Arrival::Ready(gate.try_enter_slowly(standing).map(Passage::at_once));
        };
        let (until, bound) = match (end, patience.until) {
            (Some(end), Some(_)) => (end, Bound::Deadline),
            (end, _) => {
                let wait = time::after(since, gate.wait());
                match end.filter(|&end| end < wait) {
                    Some(end) => (end, Bound::Deadline),
                    None => (wait, Bound::Wait),
                }
            }
        };
        let until = until.min(time::after(since, Duration::MAX));
        match gate.join(cx.waker(), since, until, bound, operation, standing()) {
            Arrived::Queued { slot, watch } => {
                let waiter = Waiter::new(gate, slot, bound, since, until).watching(watch);
                *self = Self::Queued(waiter);
                let Self::Queued(waiter) = self else {
                    unreachable!("queued in the line above")
                };
                Arrival::Waits(waiter)
            }
            Arrived::AtOnce(result) => Arrival::Ready(result.map(Passage::at_once)),
        }
    }
}

/// What became of a newcomer.
enum Arrival<'e, 'g> {
    Waits(&'e mut Waiter<'g>),
    Ready(Result<Passage<'g>, Rejection>),
}

impl<'g> Passage<'g> {
    pub(crate) fn at_once(flight: Flight<'g>) -> Self {
        Self {
            flight,
            waited: None,
        }
    }
}
