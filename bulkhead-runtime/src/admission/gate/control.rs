//! The gate as those see it that watch and operate it.

use std::mem;
use std::time::Duration;

use super::{Gate, Ledger, packed};
use crate::admission::counts::Tally;
use crate::admission::rejection::Rejection;
use crate::admission::terms::{Terms, Watch};
use crate::admission::waitlist::Operation;
use crate::admission::word::Word;
use crate::mode::Mode;
use crate::sync::Ordering;

/// Since when the highest numbers are told.
#[derive(Clone, Copy)]
enum Looked {
    Before,
    JustNow,
}

/// The word that stands for what the ledger says.
fn stands_for(word: Word, ledger: &Ledger) -> Word {
    let Ledger {
        terms, waitlist, ..
    } = ledger;
    word.resized()
        .with_off(terms.mode == Mode::Off)
        .with_waiting(waitlist.waiting(), terms.places())
}

impl Gate {
    /// Changes what it goes by. More permits go to those that wait; fewer are simply not given out again as
    /// they come back: nobody is waited for, and nobody is stopped. Those that wait keep the `wait` with
    /// which they came, and their places, should there be fewer now.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Terms)) {
        let mut ledger = self.ledger.lock();
        change(&mut ledger.terms);
        self.go_by(&ledger);
    }

    /// Changes how closely it is watched, from its next settling on.
    pub(crate) fn watch(&self, watch: Watch) {
        let mut ledger = self.ledger.lock();
        ledger.watch = watch;
        self.go_by(&ledger);
    }

    fn go_by(&self, ledger: &Ledger) {
        let Ledger { terms, watch, .. } = *ledger;
        let entrance = &self.entrance;
        entrance.max.store(terms.max, Ordering::Relaxed);
        entrance.queue.store(terms.queue, Ordering::Relaxed);
        entrance.wait.store(packed(terms.wait), Ordering::Relaxed);
        entrance.mode.store(terms.mode as u32, Ordering::Relaxed);
        entrance.limit.store(terms.limit(watch), Ordering::Release);
        let mut word = self.word();
        while let Err(changed) = self.exchange(word, stands_for(word, ledger)) {
            word = changed;
        }
    }

    /// What it goes by now.
    pub(crate) fn terms(&self) -> Terms {
        self.ledger.lock().terms
    }

    /// The permits that there are.
    pub(crate) fn max_now(&self) -> u32 {
        self.entrance.max.load(Ordering::Relaxed)
    }

    /// Turns those away that wait for this operation, or all that wait: a breaker has opened.
    pub(crate) fn turn_away(&self, operation: Option<Operation>) {
        let mut ledger = self.ledger.lock();
        let wakers = ledger.waitlist.turn_away(operation);
        if wakers.is_empty() {
            return;
        }
        self.counts.rejected_by_breaker(wakers.len() as u64);
        self.update_flags(&ledger);
        drop(ledger);
        for waker in wakers {
            super::wake(Some(waker));
        }
        // Whoever was behind them may be next.
        self.hand_over();
    }

    /// Rejects for a breaker that is open, in a mode that rejects.
    #[cold]
    pub(crate) fn reject_open(&self, retry_after: Option<Duration>) -> Rejection {
        self.counts.rejected_by_breaker(1);
        Rejection::Open(retry_after)
    }

    /// Every count at one moment: under the lock, so that only bodies that begin and end without it
    /// can move meanwhile.
    pub(crate) fn tally(&self) -> Tally {
        self.tally_at(&mut self.ledger.lock(), Looked::Before)
    }

    /// The same, and from here on the highest numbers are those since now.
    pub(crate) fn tally_and_restart(&self) -> Tally {
        self.tally_at(&mut self.ledger.lock(), Looked::JustNow)
    }

    fn tally_at(&self, ledger: &mut Ledger, looked: Looked) -> Tally {
        let word = self.word();
        let granted = ledger.waitlist.granted();
        let (in_flight, waiting) = (word.in_flight(), ledger.waitlist.waiting());
        let highest = match looked {
            Looked::Before => (self.entrance.highest.get(), ledger.highest_waiting),
            Looked::JustNow => (
                self.entrance.highest.restart(in_flight),
                mem::replace(&mut ledger.highest_waiting, waiting),
            ),
        };
        Tally {
            terms: ledger.terms,
            // What began at this very moment may not have told yet.
            highest_in_flight: highest.0.max(in_flight),
            highest_waiting: highest.1,
            would_reject: ledger.would_reject,
            would_wait: ledger.would_wait,
            is_draining: ledger.is_draining(),
            closed_since: ledger.closed_since,
            in_flight: in_flight - granted,
            granted,
            waiting,
            full: self.counts.full(),
            breaker_open: self.counts.breaker_open(),
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
