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
    /// The instant of the claim; unknown when there was room at once, since nobody read the clock.
    pub(crate) at: Option<Instant>,
    pub(crate) waited: Duration,
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
            Self::Fresh => match Waiter::join(gate, patience, cx) {
                Ok(waiter) => {
                    // Kept before the timer is armed: outside a runtime that panics, and the drop of
                    // the waiter must find it in the queue.
                    *self = Self::Queued(waiter);
                    let Self::Queued(waiter) = self else {
                        unreachable!("queued in the line above")
                    };
                    ready!(waiter.poll_time(timer, cx))
                }
                Err(result) => result,
            },
            Self::Queued(waiter) => ready!(waiter.poll(timer, cx)),
            Self::Done => panic!("polled again after it was ready"),
        };
        *self = Self::Done;
        Poll::Ready(result)
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
            at: None,
            waited: Duration::ZERO,
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
    /// The place, or the result of a call that needs none.
    fn join(
        gate: &'g Gate,
        patience: Patience,
        cx: &Context<'_>,
    ) -> Result<Self, Result<Passage<'g>, Refusal>> {
        let (since, until, bound) = match patience {
            Patience::Wait => {
                if let Some(load) = gate.reject_at_once() {
                    return Err(Err(Refusal::Full(load)));
                }
                let since = time::now();
                (since, time::after(since, gate.wait()), Bound::Wait)
            }
            Patience::Until(deadline) => {
                let since = time::now();
                if deadline <= since {
                    let load = gate.reject_spent();
                    return Err(Err(Refusal::Late {
                        bound: Bound::Deadline,
                        waited: Duration::ZERO,
                        load,
                    }));
                }
                if let Some(flight) = gate.enter_at_once() {
                    return Err(Ok(Passage::at_once(flight)));
                }
                (since, deadline, Bound::Deadline)
            }
        };
        match gate.join(cx.waker(), until, bound) {
            Settled::Queued(slot) => Ok(Self {
                gate,
                slot: Some(slot),
                bound,
                since,
                until,
            }),
            Settled::Admitted(flight) => Err(Ok(Passage::at_once(flight))),
            Settled::Full(load) => Err(Err(Refusal::Full(load))),
            Settled::Closed(load) => Err(Err(Refusal::Closed(load))),
        }
    }

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
                Poll::Ready(Ok(Passage {
                    flight,
                    at: Some(at),
                    waited: at.saturating_duration_since(self.since),
                }))
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
