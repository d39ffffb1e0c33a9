//! A call on its way in: at once, through the queue, or not at all.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::flight::Flight;
use super::gate::{Gate, Settled};
use super::rejection::Rejection;
use super::waiter::Waiter;
use super::waitlist::Bound;
use crate::time::{self, Instant, Timer};

/// How long a call is ready to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// As long as the policy says.
    Wait,
    /// Until an instant of the caller's.
    Until(Instant),
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

impl<'g> Entry<'g> {
    /// Cancel safety: dropping the entry leaves the queue, and hands a grant on to the next.
    ///
    /// # Panics
    /// When the call has to wait outside a tokio runtime with time enabled; and when polled again
    /// after it was ready.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        gate: &'g Gate,
        patience: Patience,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Rejection>> {
        if let (Self::Fresh, Patience::Wait) = (&self, patience)
            && let Some(flight) = gate.enter_at_once()
        {
            *self = Self::Done;
            return Poll::Ready(Ok(Passage::at_once(flight)));
        }
        self.poll_queue(gate, patience, timer, cx)
    }

    #[inline(never)]
    fn poll_queue(
        &mut self,
        gate: &'g Gate,
        patience: Patience,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Rejection>> {
        let result = match self {
            // The place is kept before the timer is armed: outside a runtime that panics, and the
            // drop of the waiter must find it in the queue.
            Self::Fresh => match self.arrive(gate, patience, cx) {
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
    fn arrive(&mut self, gate: &'g Gate, patience: Patience, cx: &Context<'_>) -> Arrival<'_, 'g> {
        let (since, until, bound) = match patience {
            Patience::Wait => {
                if let Some(rejection) = gate.reject_at_once() {
                    return Arrival::Ready(Err(rejection));
                }
                let since = time::now();
                (since, time::after(since, gate.wait()), Bound::Wait)
            }
            Patience::Until(deadline) => {
                let since = time::now();
                if deadline <= since {
                    if let Some(load) = gate.reject_spent() {
                        return Arrival::Ready(Err(Rejection::spent(load)));
                    }
                    // Where it is let in all the same, that is counted with its admission.
                } else if let Some(flight) = gate.enter_at_once() {
                    return Arrival::Ready(Ok(Passage::at_once(flight)));
                }
                let until = deadline.min(time::after(since, Duration::MAX));
                (since, until, Bound::Deadline)
            }
        };
        match gate.join(cx.waker(), since, until, bound) {
            Settled::Queued { slot, watch } => {
                let waiter = Waiter::new(gate, slot, bound, since, until).watching(watch);
                *self = Self::Queued(waiter);
                let Self::Queued(waiter) = self else {
                    unreachable!("queued in the line above")
                };
                Arrival::Waits(waiter)
            }
            Settled::AtOnce(result) => Arrival::Ready(result.map(Passage::at_once)),
        }
    }
}

/// What became of a newcomer.
enum Arrival<'e, 'g> {
    Waits(&'e mut Waiter<'g>),
    Ready(Result<Passage<'g>, Rejection>),
}

impl<'g> Passage<'g> {
    fn at_once(flight: Flight<'g>) -> Self {
        Self {
            flight,
            waited: None,
        }
    }
}
