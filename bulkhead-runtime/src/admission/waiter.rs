//! A place in the queue, from joining to the permit or the rejection.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::entry::{Passage, Waited};
use super::gate::{Gate, Leaving, Over, Turn};
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
    /// When somebody before it is out of time, if that is sooner: if nobody polls that one any more, this
    /// is the one that notices.
    watch: Option<Instant>,
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
            watch: None,
        }
    }

    pub(super) fn watching(mut self, watch: Option<Instant>) -> Self {
        self.watch = watch;
        self
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
            Turn::Over(over) => {
                self.slot = None;
                Poll::Ready(Err(self.rejection(over)))
            }
            Turn::Waiting => self.poll_time(timer, cx),
        }
    }

    /// Ready, with a rejection, when the time is up.
    pub(super) fn poll_time(
        &mut self,
        mut timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'g>, Rejection>> {
        if let Some(watch) = self.watch {
            ready!(timer.as_mut().poll_until(watch, cx));
            let slot = self
                .slot
                .expect("an entry drops its waiter when it is done");
            self.gate.clear_overdue();
            self.watch = self.gate.watch_again(slot);
            return self.poll(timer, cx);
        }
        ready!(timer.poll_until(self.until, cx));
        // Taken before anything foreign can unwind: the place is given up once.
        let slot = self
            .slot
            .take()
            .expect("an entry drops its waiter when it is done");
        let over = self.gate.leave_queue(slot, Leaving::Late(self.bound));
        Poll::Ready(Err(self.rejection(over)))
    }

    /// Leaves the queue because a breaker has opened.
    pub(super) fn turn_away(mut self) -> Rejection {
        let slot = self
            .slot
            .take()
            .expect("an entry drops its waiter when it is done");
        let over = self.gate.leave_queue(slot, Leaving::Open);
        self.rejection(over)
    }

    fn rejection(&self, over: Over) -> Rejection {
        match over {
            Over::Closed(load) => Rejection::Closed(load),
            Over::Open => Rejection::Open(None),
            Over::Late(load) => Rejection::Late {
                bound: self.bound,
                waited: time::now().saturating_duration_since(self.since),
                load,
            },
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
