//! A call on its way in: at once, through the queue, or not at all.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::counts::Load;
use super::flight::Flight;
use super::gate::{Barred, Gate, Leaving, Settled, Turn};
use super::waitlist::{Bound, SlotIndex};
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

/// Why a call may not run. It is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refusal {
    Full(Load),
    Closed(Load),
    Late {
        bound: Bound,
        waited: Duration,
        load: Load,
    },
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
    ) -> Poll<Result<Passage<'g>, Refusal>> {
        if let (Self::Fresh, Patience::Wait) = (&self, patience)
            && let Some(flight) = gate.enter_at_once()
        {
            *self = Self::Done;
            return Poll::Ready(Ok(Passage::at_once(flight)));
        }
        self.poll_queue(gate, patience, timer, cx)
    }

    #[cold]
    fn poll_queue(
        &mut self,
        gate: &'g Gate,
        patience: Patience,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Refusal>> {
        let result = match self {
            // The place is kept before the timer is armed: outside a runtime that panics, and the
            // drop of the waiter must find it in the queue.
            Self::Fresh => match self.arrive(gate, patience, cx) {
                Arrival::Waits(waiter) => ready!(waiter.poll_time(timer, cx)),
                Arrival::Ready(result) => result,
            },
            Self::Queued(waiter) => ready!(waiter.poll(timer, cx)),
            Self::Done => panic!("polled again after it was ready"),
        };
        *self = Self::Done;
        Poll::Ready(result)
    }

    /// Joins the queue, unless it is in or out at once.
    fn arrive(&mut self, gate: &'g Gate, patience: Patience, cx: &Context<'_>) -> Arrival<'_, 'g> {
        let (since, until, bound) = match patience {
            Patience::Wait => {
                if let Some(load) = gate.reject_at_once() {
                    return Arrival::Ready(Err(Refusal::Full(load)));
                }
                let since = time::now();
                (since, time::after(since, gate.wait()), Bound::Wait)
            }
            Patience::Until(deadline) => {
                let since = time::now();
                if deadline <= since {
                    return Arrival::Ready(Err(Refusal::spent(gate.reject_spent())));
                }
                if let Some(flight) = gate.enter_at_once() {
                    return Arrival::Ready(Ok(Passage::at_once(flight)));
                }
                (since, deadline, Bound::Deadline)
            }
        };
        match gate.join(cx.waker(), since, until, bound) {
            Settled::Queued(slot) => {
                *self = Self::Queued(Waiter {
                    gate,
                    slot: Some(slot),
                    bound,
                    since,
                    until,
                });
                let Self::Queued(waiter) = self else {
                    unreachable!("queued in the line above")
                };
                Arrival::Waits(waiter)
            }
            Settled::Admitted(flight) => Arrival::Ready(Ok(Passage::at_once(flight))),
            Settled::Full(load) => Arrival::Ready(Err(Refusal::Full(load))),
            Settled::Closed(load) => Arrival::Ready(Err(Refusal::Closed(load))),
        }
    }
}

/// What became of a newcomer.
enum Arrival<'e, 'g> {
    Waits(&'e mut Waiter<'g>),
    Ready(Result<Passage<'g>, Refusal>),
}

impl Refusal {
    /// The deadline had passed before the call came.
    fn spent(load: Load) -> Self {
        Self::Late {
            bound: Bound::Deadline,
            waited: Duration::ZERO,
            load,
        }
    }
}

impl From<Barred> for Refusal {
    fn from(barred: Barred) -> Self {
        match barred {
            Barred::Full(load) => Self::Full(load),
            Barred::Closed(load) => Self::Closed(load),
        }
    }
}

impl<'g> Passage<'g> {
    fn at_once(flight: Flight<'g>) -> Self {
        Self {
            flight,
            waited: None,
        }
    }
}

/// A place in the queue. Its drop leaves it: abandoned.
#[derive(Debug)]
pub(crate) struct Waiter<'g> {
    gate: &'g Gate,
    /// `None` once the place was given up for a permit or a rejection.
    slot: Option<SlotIndex>,
    bound: Bound,
    since: Instant,
    until: Instant,
}

impl<'g> Waiter<'g> {
    fn poll(
        &mut self,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Refusal>> {
        let slot = self
            .slot
            .expect("an entry drops its waiter when it is done");
        match self.gate.look(slot, self.bound, self.until, cx.waker()) {
            Turn::Admitted(flight, at) => {
                self.slot = None;
                let waited = Some(Waited {
                    since: self.since,
                    until: at,
                });
                Poll::Ready(Ok(Passage { flight, waited }))
            }
            Turn::Late(load) => Poll::Ready(Err(self.late(load))),
            Turn::Closed(load) => {
                self.slot = None;
                Poll::Ready(Err(Refusal::Closed(load)))
            }
            Turn::Waiting => self.poll_time(timer, cx),
        }
    }

    /// Ready, with a rejection, when the time is up.
    fn poll_time(
        &mut self,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Refusal>> {
        ready!(timer.poll_until(self.until, cx));
        let slot = self
            .slot
            .expect("an entry drops its waiter when it is done");
        let load = self.gate.leave_queue(slot, Leaving::Late(self.bound));
        Poll::Ready(Err(self.late(load)))
    }

    fn late(&mut self, load: Load) -> Refusal {
        self.slot = None;
        let waited = time::now().saturating_duration_since(self.since);
        Refusal::Late {
            bound: self.bound,
            waited,
            load,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.gate.leave_queue(slot, Leaving::Abandoned);
        }
    }
}
