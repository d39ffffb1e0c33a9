//! The gate as those see it that wait: looking, claiming, leaving, and losing a grant.

use std::task::Waker;

use super::{Gate, Leaving, Ledger, Over, Turn};
use crate::admission::flight::Flight;
use crate::admission::waitlist::{Away, Bound, SlotIndex, State};
use crate::foreign::drop_harmlessly;
use crate::time::{self, Instant, Stamp};

impl Gate {
    /// A waiter looks whether it is its turn, and leaves word how to wake it if it is not.
    pub(in crate::admission) fn look(
        &self,
        slot: SlotIndex,
        bound: Bound,
        until: Instant,
        waker: &Waker,
    ) -> Turn<'_> {
        // Before the lock, although only a claim needs it: most looks are claims, and others wait for
        // the lock.
        let now = time::now();
        let mut ledger = self.ledger.lock();
        match ledger.waitlist.state(slot) {
            State::Waiting if ledger.waitlist.wakes(slot, waker) => return Turn::Waiting,
            State::Waiting => {
                drop(ledger);
                return self.look_again(slot, bound, until, waker);
            }
            State::Granted if now < until => {
                return Turn::Admitted(self.claim(&mut ledger, slot, now), now);
            }
            State::Granted | State::Revoked | State::TurnedAway(_) | State::Vacant => {}
        }
        drop(ledger);
        Turn::Over(self.leave_queue(slot, Leaving::Late(bound)))
    }

    /// The task has moved, or its waker is new: it is cloned, and the old one dropped, outside the
    /// lock. In between the permit may have been granted, and then nobody is left to be woken.
    #[cold]
    fn look_again(&self, slot: SlotIndex, bound: Bound, until: Instant, waker: &Waker) -> Turn<'_> {
        let fresh = waker.clone();
        let mut ledger = self.ledger.lock();
        if ledger.waitlist.state(slot) == State::Waiting {
            let stale = ledger.waitlist.replace_waker(slot, fresh);
            drop(ledger);
            drop_harmlessly(stale);
            return Turn::Waiting;
        }
        drop(ledger);
        drop_harmlessly(fresh);
        self.look(slot, bound, until, waker)
    }

    fn claim(&self, ledger: &mut Ledger, slot: SlotIndex, now: Instant) -> Flight<'_> {
        ledger.waitlist.remove(slot);
        self.tell_unclaimed(ledger.waitlist.granted());
        Flight::begin_at(self, self.takes_its_time().then(|| Stamp::of(now)))
    }

    /// A waiter leaves without a permit. What it was granted goes to the next, and what the ledger
    /// already counted for it is not counted again.
    pub(in crate::admission) fn leave_queue(&self, slot: SlotIndex, leaving: Leaving) -> Over {
        let mut ledger = self.ledger.lock();
        // As it was when the time ran out: a grant that came too late is still one in flight.
        let word = self.word();
        let (was, waker) = ledger.waitlist.remove(slot);
        match was {
            State::Waiting => {
                self.count(&mut ledger, leaving);
                self.update_flags(&ledger);
            }
            State::Granted => {
                self.count(&mut ledger, leaving);
                self.give_back(&ledger);
            }
            State::Revoked | State::TurnedAway(_) | State::Vacant => {}
        }
        let load = self.load_at(word, ledger.waitlist.waiting());
        drop(ledger);
        drop_harmlessly(waker);
        self.recover();
        self.hand_over();
        match was {
            State::TurnedAway(Away::Closed) => Over::Closed(load),
            State::TurnedAway(Away::Open) => Over::Open,
            State::Waiting | State::Granted if leaving == Leaving::Open => Over::Open,
            _ => Over::Late(load),
        }
    }

    /// Takes back what was granted to waiters whose time is up, and hands it on. Costs a look at one
    /// number where nothing is granted and unclaimed.
    #[inline]
    pub(super) fn recover(&self) {
        if self.unclaimed() > 0 {
            self.clear_overdue();
        }
    }

    /// Takes back every grant, and every place in the queue, whose time is up.
    #[cold]
    pub(in crate::admission) fn clear_overdue(&self) {
        let now = time::now();
        let revoked = self.revoke_overdue(&mut self.ledger.lock(), now);
        if revoked {
            self.hand_over();
        }
    }

    /// The same under the lock; tells whether a permit came back.
    pub(super) fn revoke_overdue(&self, ledger: &mut Ledger, now: Instant) -> bool {
        let (mut wait_timeout, mut deadline) = (0, 0);
        let mut tell = |bound| match bound {
            Bound::Wait => wait_timeout += 1,
            Bound::Deadline => deadline += 1,
        };
        let (granted, waiting) = (ledger.waitlist.granted(), ledger.waitlist.waiting());
        ledger.waitlist.expire_overdue(now, &mut tell);
        ledger.waitlist.revoke_overdue(now, &mut tell);
        ledger.wait_timeout += wait_timeout;
        ledger.deadline += deadline;
        if ledger.waitlist.waiting() < waiting {
            self.update_flags(ledger);
        }
        let revoked = granted - ledger.waitlist.granted();
        for _ in 0..revoked {
            self.give_back(ledger);
        }
        revoked > 0
    }

    /// When a waiter that has just cleared what was overdue should do so again, if before its own end.
    pub(in crate::admission) fn watch_again(&self, slot: SlotIndex) -> Option<Instant> {
        let now = time::now();
        self.ledger.lock().waitlist.watch_again(slot, now)
    }

    pub(super) fn update_flags(&self, ledger: &Ledger) {
        let mut word = self.word();
        while let Err(changed) = self.exchange(
            word,
            word.with_waiting(ledger.waitlist.waiting(), ledger.terms.places()),
        ) {
            word = changed;
        }
    }
}
