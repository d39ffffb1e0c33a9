//! The gate as those see it that close it: for good, or for everybody but the calls that are under way.
//!
//! What is under way holds permits while it calls on, and so may need more of them to come to its end. A gate
//! that drains lets those calls in, and nobody else. The word says only that the gate is closed, which sends
//! everybody to the lock; for whom it is closed stands in the ledger.
//!
//! *The last one against the look.* Whoever waits until the gate is empty asks to be told, and then looks at the word.
//! A release that the look does not see finds the gate closed in the word that it leaves behind, goes to the
//! lock, and tells, once the lock is free.

use super::{Gate, Ledger};
use crate::admission::waitlist::Standing;
use crate::time::{self, Instant};

/// For whom the gate is open; each is closed to more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Door {
    Open,
    /// For calls that are part of one that holds a permit.
    Draining,
    Closed,
}

impl Door {
    fn turns_away(self, standing: Standing) -> bool {
        match self {
            Self::Open => false,
            Self::Draining => standing == Standing::Outside,
            Self::Closed => true,
        }
    }
}

impl Ledger {
    /// Whether a newcomer, or one that waits, is turned away because the gate is closed.
    pub(super) fn turns_away(&self, standing: Standing) -> bool {
        self.door.turns_away(standing)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.door == Door::Draining
    }
}

impl Gate {
    /// Lets nobody in any more. Those that wait are turned away; those in flight, and those that were
    /// granted a permit, go on. Tells whether it was open.
    pub(crate) fn close(&self) -> bool {
        self.shut(Door::Closed)
    }

    /// The same, but calls that are part of one that holds a permit, here or elsewhere, still come in, and wait. A
    /// gate that is closed for all stays so.
    pub(crate) fn drain(&self) -> bool {
        self.shut(Door::Draining)
    }

    /// The same for a gate that nobody has seen: there is nobody to turn away, and nobody is told. Whoever makes one may
    /// hold a lock.
    pub(crate) fn drain_unseen(&self) {
        let mut ledger = self.ledger.lock();
        ledger.door = Door::Draining;
        ledger.closed_since = Some(time::now());
        self.set_closed(true);
    }

    fn shut(&self, door: Door) -> bool {
        let now = time::now();
        let mut ledger = self.ledger.lock();
        let door = ledger.door.max(door);
        ledger.door = door;
        ledger.closed_since.get_or_insert(now);
        let was_open = self.set_closed(true);
        let wakers = ledger
            .waitlist
            .turn_away_closed(|standing| door.turns_away(standing));
        ledger.closed += wakers.len() as u64;
        self.update_flags(&ledger);
        drop(ledger);
        for waker in wakers {
            super::wake(Some(waker));
        }
        // One behind them that stays may be next; and if nobody is left, that is told.
        self.hand_over();
        was_open
    }

    /// Lets callers in again; tells whether it was closed.
    pub(crate) fn reopen(&self) -> bool {
        let mut ledger = self.ledger.lock();
        ledger.door = Door::Open;
        ledger.closed_since = None;
        self.set_closed(false)
    }

    /// Under the lock only. Tells whether that changes anything.
    fn set_closed(&self, closed: bool) -> bool {
        let mut word = self.word();
        while let Err(changed) = self.exchange(word, word.with_closed(closed)) {
            word = changed;
        }
        word.is_closed() != closed
    }

    /// Whether it is closed, for all or for those outside.
    pub(crate) fn is_closed(&self) -> bool {
        self.word().is_closed()
    }

    /// Whether nobody is in flight, was granted a permit, or waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.word().is_empty()
    }

    /// Takes grants and places in the queue back whose time is up: where nobody comes any more, nobody else may do
    /// that. Tells when to do it again.
    pub(crate) fn clear(&self) -> Option<Instant> {
        self.clear_overdue();
        self.ledger.lock().waitlist.due()
    }
}
