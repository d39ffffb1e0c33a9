//! The gate of a partition: its word, its wait list, and the counts of what passed.
//!
//! A call that finds room costs one compare-exchange on the word, and its release one addition. The
//! lock is taken only when somebody waits or is about to. Three orders make that safe:
//!
//! * *Joining against a release.* A newcomer raises the flag "somebody waits" in a compare-exchange
//!   on a word that has no room. Either a release came before, and it fails and finds the room; or
//!   the release comes after, sees the flag, and goes to the lock.
//! * *A release on its way to the lock.* Between its subtraction and its lock there is room and
//!   somebody waits. A newcomer may not take that room, and may not be rejected for it either: it
//!   takes the lock and hands the room over itself, then looks again.
//! * *An unclaimed grant.* The count of grants that nobody has claimed yet is readable without the
//!   lock and is raised before the word is. Whoever is about to reject, or to release, and sees it
//!   above zero first takes back what is overdue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::time::Duration;

use super::counts::{Counts, Load, Mean, Tally};
use super::flight::Flight;
use super::waitlist::{Bound, SlotIndex, State, Waitlist};
use super::word::{Decision, Word};
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, OwnLine};
use crate::time::{self, Instant};

#[derive(Debug)]
pub(crate) struct Gate {
    entrance: OwnLine<Entrance>,
    ledger: OwnLine<Mutex<Ledger>>,
    counts: OwnLine<Counts>,
}

/// What every call reads.
#[derive(Debug)]
struct Entrance {
    word: AtomicU64,
    max: u32,
    queue: u32,
    /// Granted and not claimed; written under the lock.
    unclaimed: AtomicU32,
    mean: Mean,
    wait: Duration,
}

/// What only the lock protects, counts of what happens under it included.
#[derive(Debug)]
struct Ledger {
    waitlist: Waitlist,
    /// Successes carried over from the word.
    successes: u64,
    wait_timeout: u64,
    deadline: u64,
    abandoned: u64,
}

/// What became of a call that went to the lock.
pub(super) enum Settled<'g> {
    Admitted(Flight<'g>),
    Queued(SlotIndex),
    Full(Load),
}

/// What a waiter finds when it looks.
pub(super) enum Turn<'g> {
    Waiting,
    /// The permit is the caller's since the instant.
    Admitted(Flight<'g>, Instant),
    /// Its time is up, or its grant was taken back; it is counted.
    Late(Load),
}

/// How a waiter leaves the queue without a permit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaving {
    Late(Bound),
    Abandoned,
}

impl Gate {
    pub(crate) fn new(policy: Policy) -> Self {
        let entrance = Entrance {
            word: AtomicU64::new(Word::idle(policy.queue()).0),
            max: policy.max(),
            queue: policy.queue(),
            unclaimed: AtomicU32::new(0),
            mean: Mean::default(),
            wait: policy.wait(),
        };
        let ledger = Ledger {
            waitlist: Waitlist::new(),
            successes: 0,
            wait_timeout: 0,
            deadline: 0,
            abandoned: 0,
        };
        Self {
            entrance: OwnLine(entrance),
            ledger: OwnLine(Mutex::new(ledger)),
            counts: OwnLine(Counts::default()),
        }
    }

    /// The longest time in the queue.
    pub(super) fn wait(&self) -> Duration {
        self.entrance.wait
    }

    /// Room now, or none: never waits, and never overtakes those that do.
    ///
    /// # Errors
    /// When there is no room for a newcomer; that is counted.
    #[inline]
    pub(crate) fn try_enter(&self) -> Result<Flight<'_>, Load> {
        self.enter_at_once()
            .unwrap_or_else(|| match self.settle(None) {
                Settled::Admitted(flight) => Ok(flight),
                Settled::Full(load) => Err(load),
                Settled::Queued(_) => unreachable!("nobody was offered to the queue"),
            })
    }

    /// The usual case, decided on the word alone; `None` sends the call to the lock.
    #[inline]
    pub(super) fn enter_at_once(&self) -> Option<Result<Flight<'_>, Load>> {
        let mut word = self.word();
        loop {
            match word.decide(self.entrance.max) {
                Decision::Admit(next) => match self.exchange(word, next) {
                    Ok(()) => return Some(Ok(Flight::begin(self, word.is_sampled()))),
                    Err(changed) => word = changed,
                },
                Decision::Reject if self.unclaimed() == 0 => {
                    return Some(Err(self.reject(word, self.entrance.queue)));
                }
                Decision::Reject | Decision::Ask => return None,
            }
        }
    }

    /// Room now, a place at the tail of the queue, or neither.
    #[cold]
    pub(super) fn join(&self, waker: &Waker, until: Instant, bound: Bound) -> Settled<'_> {
        self.settle(Some((waker.clone(), until, bound)))
    }

    /// Decides under the lock, after everything that others are entitled to was handed over.
    #[cold]
    fn settle(&self, mut newcomer: Option<(Waker, Instant, Bound)>) -> Settled<'_> {
        self.recover();
        loop {
            let Some(mut ledger) = self.hand_over_one(self.ledger.lock()) else {
                continue;
            };
            let (word, waiting) = (self.word(), ledger.waitlist.waiting());
            if word.has_room(self.entrance.max) {
                // With waiters the room came after the look above, and is the head's.
                if waiting == 0 && self.exchange(word, word.plus_one()).is_ok() {
                    return Settled::Admitted(Flight::begin(self, word.is_sampled()));
                }
            } else if waiting >= self.entrance.queue {
                return Settled::Full(self.reject(word, waiting));
            } else if let Some((waker, until, bound)) = newcomer.take() {
                let joined = word.with_waiting(waiting + 1, self.entrance.queue);
                if self.exchange(word, joined).is_ok() {
                    return Settled::Queued(ledger.waitlist.join(waker, until, bound));
                }
                newcomer = Some((waker, until, bound));
            } else {
                return Settled::Full(self.reject(word, waiting));
            }
        }
    }

    #[inline]
    fn reject(&self, word: Word, waiting: u32) -> Load {
        self.counts.rejected_full();
        self.load_at(word, waiting)
    }

    /// Rejects a call whose deadline had passed before it came.
    #[cold]
    pub(super) fn reject_spent(&self) -> Load {
        let mut ledger = self.ledger.lock();
        ledger.deadline += 1;
        self.load_at(self.word(), ledger.waitlist.waiting())
    }

    /// A waiter looks whether it is its turn, and leaves word how to wake it if it is not.
    pub(super) fn look(
        &self,
        slot: SlotIndex,
        bound: Bound,
        until: Instant,
        waker: &Waker,
    ) -> Turn<'_> {
        let mut ledger = self.ledger.lock();
        match ledger.waitlist.state(slot) {
            State::Waiting if ledger.waitlist.wakes(slot, waker) => return Turn::Waiting,
            State::Waiting => {
                drop(ledger);
                return self.look_again(slot, bound, until, waker);
            }
            State::Granted => {
                let now = time::now();
                if now < until {
                    return Turn::Admitted(self.claim(&mut ledger, slot, now), now);
                }
            }
            State::Revoked | State::Vacant => {}
        }
        drop(ledger);
        Turn::Late(self.leave_queue(slot, Leaving::Late(bound)))
    }

    /// The task has moved, or its waker is new: it is cloned, and the old one dropped, outside the
    /// lock. In between the permit may have been granted, and then nobody is left to be woken.
    #[cold]
    fn look_again(&self, slot: SlotIndex, bound: Bound, until: Instant, waker: &Waker) -> Turn<'_> {
        let fresh = waker.clone();
        let mut ledger = self.ledger.lock();
        if ledger.waitlist.state(slot) != State::Waiting {
            drop(ledger);
            return self.look(slot, bound, until, waker);
        }
        let stale = ledger.waitlist.replace_waker(slot, fresh);
        drop(ledger);
        drop(stale);
        Turn::Waiting
    }

    fn claim(&self, ledger: &mut Ledger, slot: SlotIndex, now: Instant) -> Flight<'_> {
        ledger.waitlist.remove(slot);
        self.entrance
            .unclaimed
            .store(ledger.waitlist.granted(), Ordering::Release);
        Flight::since(self, self.word().is_sampled().then_some(now))
    }

    /// A waiter leaves without a permit. What it was granted goes to the next, and what the ledger
    /// already counted for it is not counted again.
    pub(super) fn leave_queue(&self, slot: SlotIndex, leaving: Leaving) -> Load {
        let mut ledger = self.ledger.lock();
        // As it was when the time ran out: a grant that came too late is still one in flight.
        let word = self.word();
        let (was, waker) = ledger.waitlist.remove(slot);
        match was {
            State::Waiting => {
                ledger.count(leaving);
                self.update_flags(&ledger);
            }
            State::Granted => {
                ledger.count(leaving);
                self.give_back(&ledger);
            }
            State::Revoked | State::Vacant => {}
        }
        let load = self.load_at(word, ledger.waitlist.waiting());
        drop(ledger);
        drop(waker);
        self.recover();
        self.hand_over();
        load
    }

    /// One call fewer in flight, counted as `outcome`; the permit goes to the head of the queue.
    #[inline]
    pub(super) fn leave(&self, outcome: Outcome, held: Option<Duration>) {
        if let Some(held) = held {
            self.entrance.mean.sample(held);
        }
        if self.unclaimed() > 0 {
            self.recover();
        }
        // Counted before the permit is free, so that whoever is admitted on it sees the count.
        self.counts.ended(outcome);
        let word = self.release(outcome == Outcome::Success);
        if word.has_waiters() || word.must_carry() {
            self.hand_over();
        }
    }

    /// Takes back what was granted to waiters whose time is up, and hands it on.
    #[inline]
    fn recover(&self) {
        if self.unclaimed() > 0 {
            self.recover_overdue();
        }
    }

    /// Whoever gets what was taken back may be late as well: again, until nobody is.
    #[cold]
    fn recover_overdue(&self) {
        let now = time::now();
        while self.revoke_overdue(now) {
            self.hand_over();
        }
    }

    fn revoke_overdue(&self, now: Instant) -> bool {
        let mut ledger = self.ledger.lock();
        let mut revoked = false;
        while let Some(bound) = ledger.waitlist.revoke_overdue(now) {
            ledger.count(Leaving::Late(bound));
            self.give_back(&ledger);
            revoked = true;
        }
        revoked
    }

    /// Hands room to those that wait, until there is no more of one or of the other.
    #[cold]
    fn hand_over(&self) {
        while self.hand_over_one(self.ledger.lock()).is_none() {}
    }

    /// Grants a permit to the head of the queue if there is room for it, gives up the lock, and
    /// wakes. Keeps the lock, and hands it back, if there was nothing to grant.
    ///
    /// A waker is foreign code that may panic, and those behind it must not be stranded by that: its
    /// panic ends here (the panic hook has told of it).
    fn hand_over_one<'l>(
        &self,
        mut ledger: MutexGuard<'l, Ledger>,
    ) -> Option<MutexGuard<'l, Ledger>> {
        if ledger.waitlist.waiting() == 0 || !self.take_room_for_head(&ledger) {
            self.carry(&mut ledger);
            return Some(ledger);
        }
        let waker = ledger.waitlist.grant_head();
        drop(ledger);
        drop(catch_unwind(AssertUnwindSafe(|| waker.map(Waker::wake))));
        None
    }

    fn take_room_for_head(&self, ledger: &Ledger) -> bool {
        let waiting = ledger.waitlist.waiting() - 1;
        // Raised before the word is: who finds no room because of this grant must find the grant.
        self.entrance
            .unclaimed
            .store(ledger.waitlist.granted() + 1, Ordering::Release);
        let mut word = self.word();
        while word.has_room(self.entrance.max) {
            match self.exchange(
                word,
                word.plus_one().with_waiting(waiting, self.entrance.queue),
            ) {
                Ok(()) => return true,
                Err(changed) => word = changed,
            }
        }
        self.entrance
            .unclaimed
            .store(ledger.waitlist.granted(), Ordering::Release);
        false
    }

    /// Releases the permit of a grant that is already off the list.
    fn give_back(&self, ledger: &Ledger) {
        self.entrance
            .unclaimed
            .store(ledger.waitlist.granted(), Ordering::Release);
        self.release(false);
    }

    fn update_flags(&self, ledger: &Ledger) {
        let mut word = self.word();
        while let Err(changed) = self.exchange(
            word,
            word.with_waiting(ledger.waitlist.waiting(), self.entrance.queue),
        ) {
            word = changed;
        }
    }

    fn carry(&self, ledger: &mut Ledger) {
        let mut word = self.word();
        while word.must_carry() {
            let (rest, carried) = word.carried();
            match self.exchange(word, rest) {
                Ok(()) => return ledger.successes += carried,
                Err(changed) => word = changed,
            }
        }
    }

    #[inline]
    fn release(&self, success: bool) -> Word {
        Word(
            self.entrance
                .word
                .fetch_add(Word::release(success), Ordering::AcqRel),
        )
    }

    #[inline]
    fn word(&self) -> Word {
        Word(self.entrance.word.load(Ordering::Acquire))
    }

    #[inline]
    fn exchange(&self, from: Word, to: Word) -> Result<(), Word> {
        self.entrance
            .word
            .compare_exchange_weak(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Word)
    }

    #[inline]
    fn unclaimed(&self) -> u32 {
        self.entrance.unclaimed.load(Ordering::Acquire)
    }

    fn load_at(&self, word: Word, waiting: u32) -> Load {
        Load {
            in_flight: word.in_flight(),
            max: self.entrance.max,
            waiting,
            mean: self.entrance.mean.get(),
        }
    }

    /// Every count at one moment: under the lock, so that only bodies that begin and end without it
    /// can move meanwhile.
    pub(crate) fn tally(&self) -> Tally {
        let ledger = self.ledger.lock();
        let word = self.word();
        let granted = ledger.waitlist.granted();
        Tally {
            in_flight: word.in_flight() - granted,
            granted,
            waiting: ledger.waitlist.waiting(),
            full: self.counts.full(),
            wait_timeout: ledger.wait_timeout,
            deadline: ledger.deadline,
            abandoned: ledger.abandoned,
            outcomes: self.counts.outcomes(ledger.successes + word.successes()),
            mean: self.entrance.mean.get(),
        }
    }
}

impl Ledger {
    fn count(&mut self, leaving: Leaving) {
        let count = match leaving {
            Leaving::Late(Bound::Wait) => &mut self.wait_timeout,
            Leaving::Late(Bound::Deadline) => &mut self.deadline,
            Leaving::Abandoned => &mut self.abandoned,
        };
        *count += 1;
    }
}
