//! A place in the queue, from joining to the permit or the rejection.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::counts::Load;
use super::entry::{Passage, Waited};
use super::gate::{Gate, Leaving, Turn};
use super::rejection::Rejection;
use super::waitlist::{Bound, SlotIndex};
use crate::time::{self, Instant, Timer};

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
    pub(super) fn new(
        gate: &'g Gate,
        slot: SlotIndex,
        bound: Bound,
        since: Instant,
        until: Instant,
    ) -> Self {
        Self {
            gate,
            slot: Some(slot),
            bound,
            since,
            until,
        }
    }

    pub(super) fn poll(
        &mut self,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Rejection>> {
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
                Poll::Ready(Err(Rejection::Closed(load)))
            }
            Turn::Waiting => self.poll_time(timer, cx),
        }
    }

    /// Ready, with a rejection, when the time is up.
    pub(super) fn poll_time(
        &mut self,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Rejection>> {
        ready!(timer.poll_until(self.until, cx));
        let slot = self
            .slot
            .expect("an entry drops its waiter when it is done");
        let load = self.gate.leave_queue(slot, Leaving::Late(self.bound));
        Poll::Ready(Err(self.late(load)))
    }

    fn late(&mut self, load: Load) -> Rejection {
        self.slot = None;
        let waited = time::now().saturating_duration_since(self.since);
        Rejection::Late {
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
