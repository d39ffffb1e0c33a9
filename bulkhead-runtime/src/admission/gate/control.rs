//! The gate as those see it that watch and operate it.

use super::Gate;
use crate::admission::counts::Tally;
use crate::sync::Ordering;

impl Gate {
    /// Changes the number of permits. More of them go to those that wait; fewer are simply not given
    /// out again as they come back: nobody is waited for, and nobody is stopped.
    pub(crate) fn resize(&self, max: u32) {
        let ledger = self.ledger.lock();
        self.entrance.max.store(max, Ordering::Release);
        let mut word = self.word();
        while let Err(changed) = self.exchange(word, word.resized()) {
            word = changed;
        }
        drop(ledger);
        self.hand_over();
    }

    /// The permits that there are.
    pub(crate) fn max_now(&self) -> u32 {
        self.max()
    }

    /// Lets nobody in any more. Those that wait are turned away; those in flight, and those that were
    /// granted a permit, go on.
    pub(crate) fn close(&self) {
        self.set_closed(true);
        while self.turn_one_away() {}
    }

    /// Lets callers in again.
    pub(crate) fn reopen(&self) {
        self.set_closed(false);
    }

    fn set_closed(&self, closed: bool) {
        let _ledger = self.ledger.lock();
        let mut word = self.word();
        while let Err(changed) = self.exchange(word, word.with_closed(closed)) {
            word = changed;
        }
    }

    fn turn_one_away(&self) -> bool {
        let mut ledger = self.ledger.lock();
        if !self.word().is_closed() || ledger.waitlist.waiting() == 0 {
            return false;
        }
        let waker = ledger.waitlist.turn_head_away();
        ledger.closed += 1;
        self.update_flags(&ledger);
        drop(ledger);
        super::wake(waker);
        true
    }

    /// Every count at one moment: under the lock, so that only bodies that begin and end without it
    /// can move meanwhile.
    pub(crate) fn tally(&self) -> Tally {
        let ledger = self.ledger.lock();
        let word = self.word();
        let granted = ledger.waitlist.granted();
        Tally {
            max: self.max(),
            is_closed: word.is_closed(),
            in_flight: word.in_flight() - granted,
            granted,
            waiting: ledger.waitlist.waiting(),
            full: self.counts.full(),
            wait_timeout: ledger.wait_timeout,
            deadline: ledger.deadline,
            closed: ledger.closed,
            abandoned: ledger.abandoned,
            outcomes: self.counts.outcomes(ledger.successes + word.successes()),
            mean: self.entrance.mean.get(),
        }
    }

    /// As if all but one of the successes had passed that the word can keep; tells how many.
    #[cfg(test)]
    pub(in crate::admission) fn preset_successes_to_the_brink(&self) -> u64 {
        let word = self.word().on_the_brink_of_a_carry();
        self.entrance.word.store(word.0, Ordering::SeqCst);
        word.successes()
    }
}
