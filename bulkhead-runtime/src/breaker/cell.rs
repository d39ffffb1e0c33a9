//! A machine that threads share, and the guard that every call holds.
//!
//! As long as nothing is wrong a call looks, and takes its ticket, by one load each of the [`word`](super::word);
//! open, it is turned away by one load and the clock. Results of a closed era, and everything about probes, take
//! the lock; it is held for a few nanoseconds and nothing of the user's runs under it. The exception is for busy
//! breakers that have seen nothing but quick successes: there most of these are counted in the word, without lock
//! and clock. [`Machine::grants`] says how many.
//!
//! The word is read and written without ordering. It publishes nothing but itself, and who reads an older
//! one is answered as if it had come a moment earlier.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use super::machine::{Look, Machine, Rejected, Seen, Ticket};
use super::rules::Jitter;
use super::settings::Settings;
use super::transition::{BreakerState, BreakerTransition, Moves};
use super::window::Totals;
use super::word::{Answer, Word};
use crate::sync::{AtomicU64, Mutex, Ordering};
#[cfg(feature = "tower")]
use crate::time;
use crate::time::Stamp;

/// A machine, and the word that answers for it.
pub(crate) struct BreakerCell {
    word: AtomicU64,
    machine: Mutex<Machine>,
    /// Of the jitter; drawn once.
    seed: u64,
}

/// One call that passed: it owes the breaker one report. Dropped, it reports [`Seen::Nothing`].
#[derive(Debug)]
#[must_use = "dropped at once, the call counts for nothing, and a probe's place goes to the next"]
pub(crate) struct Watch<'a> {
    breaker: &'a BreakerCell,
    /// Until it is reported.
    ticket: Option<Ticket>,
}

impl BreakerCell {
    pub(crate) fn new(settings: Settings) -> Self {
        let machine = Machine::new(settings);
        Self {
            word: AtomicU64::new(Word::of(&machine, Stamp(1)).0),
            machine: Mutex::new(machine),
            seed: RandomState::new().build_hasher().finish(),
        }
    }

    /// The look before queueing: it takes nothing.
    pub(crate) fn look(&self) -> (Look, Moves) {
        match self.word().answer() {
            Answer::Pass { .. } => (Look::Pass, Moves::NONE),
            Answer::Ask => self.look_closer(Stamp::now()),
            Answer::ForcedOpen => (Look::Open(Rejected { retry_after: None }), Moves::NONE),
            Answer::Open { until } => {
                let now = Stamp::now();
                match rejected(until, now) {
                    Some(rejected) => (Look::Open(rejected), Moves::NONE),
                    None => self.look_closer(now),
                }
            }
        }
    }

    /// Taken once the call has its permit. `expires_after`, which is the `timeout` or what is left to the
    /// deadline, matters to a probe only.
    ///
    /// # Errors
    /// The breaker is open, or every probe that it needs is out.
    pub(crate) fn enter(&self, expires_after: Duration) -> (Result<Watch<'_>, Rejected>, Moves) {
        match self.word().answer() {
            Answer::Pass { era } => (Ok(self.watch(Ticket::ordinary(era))), Moves::NONE),
            Answer::Ask => self.enter_closer(Stamp::now(), expires_after),
            Answer::ForcedOpen => (Err(Rejected { retry_after: None }), Moves::NONE),
            Answer::Open { until } => {
                let now = Stamp::now();
                match rejected(until, now) {
                    Some(rejected) => (Err(rejected), Moves::NONE),
                    None => self.enter_closer(now, expires_after),
                }
            }
        }
    }

    /// Lets no call pass until that is undone by hand.
    pub(crate) fn force_open(&self) -> Option<BreakerTransition> {
        self.change(Stamp::now(), Machine::force_open)
    }

    /// Lets every call pass and counts none, until that is undone by hand.
    pub(crate) fn disable(&self) -> Option<BreakerTransition> {
        self.change(Stamp::now(), Machine::disable)
    }

    /// Closes, and forgets everything.
    pub(crate) fn reset(&self) -> Option<BreakerTransition> {
        self.change(Stamp::now(), Machine::reset)
    }

    /// The state, and the calls in its window.
    pub(crate) fn snapshot(&self) -> (BreakerState, Totals) {
        let now = Stamp::now();
        self.change(now, |machine| (machine.state(), machine.totals(now)))
    }

    /// Whether nothing is wrong and calls are many: a call that comes now, and succeeds at once, need not look at
    /// the clock.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.word().is_calm()
    }

    /// The era, while it is closed: the ticket of a call that comes now.
    #[inline]
    pub(crate) fn closed_era(&self) -> Option<u64> {
        self.word().left().map(|(era, _)| era)
    }

    /// The call that began in that era and is not over yet.
    pub(crate) fn watch_in(&self, era: u64) -> Watch<'_> {
        self.watch(Ticket::ordinary(era))
    }

    /// Counts a success of a call that began in `era` in the word; `false` if the machine has to be told.
    #[inline]
    pub(crate) fn succeed(&self, era: u64) -> bool {
        let mut word = self.word();
        // In another era, it changes nothing.
        while word.is_closed_in(era) {
            if !word.is_calm() {
                return false;
            }
            match self.exchange(word, word.less_one()) {
                Ok(()) => return true,
                Err(changed) => word = changed,
            }
        }
        true
    }

    #[inline]
    fn exchange(&self, from: Word, to: Word) -> Result<(), Word> {
        self.word
            .compare_exchange_weak(from.0, to.0, Ordering::Relaxed, Ordering::Relaxed)
            .map(|_| ())
            .map_err(Word)
    }

    #[cold]
    fn look_closer(&self, now: Stamp) -> (Look, Moves) {
        let jitter = self.jitter(now);
        self.change(now, |machine| machine.look(now, jitter))
    }

    #[cold]
    fn enter_closer(
        &self,
        now: Stamp,
        expires_after: Duration,
    ) -> (Result<Watch<'_>, Rejected>, Moves) {
        let jitter = self.jitter(now);
        let (result, moves) =
            self.change(now, |machine| machine.ticket(now, jitter, expires_after));
        (result.map(|ticket| self.watch(ticket)), moves)
    }

    fn report(&self, now: Stamp, ticket: Ticket, seen: Seen) -> Option<BreakerTransition> {
        let counts = seen != Seen::Nothing && self.word().is_closed_in(ticket.era());
        if !counts && !ticket.is_probe() {
            return None;
        }
        let jitter = self.jitter(now);
        self.change(now, |machine| machine.report(now, jitter, ticket, seen))
    }

    fn watch(&self, ticket: Ticket) -> Watch<'_> {
        Watch {
            breaker: self,
            ticket: Some(ticket),
        }
    }

    #[inline]
    fn word(&self) -> Word {
        Word(self.word.load(Ordering::Relaxed))
    }

    /// The only way to the machine, so that no change misses the word, and no look at the machine misses what the
    /// word has counted.
    fn change<R>(&self, now: Stamp, change: impl FnOnce(&mut Machine) -> R) -> R {
        let mut machine = self.machine.lock();
        let mut before = settled(&mut machine, now, self.word());
        let result = change(&mut machine);
        loop {
            let word = Word::of(&machine, now);
            // Most results change nothing that the word tells; written all the same, it would have to travel
            // to every core that looks.
            let written = if word == before {
                Ok(())
            } else {
                self.exchange(before, word)
            };
            match written {
                Ok(()) => {
                    machine.granted(word.left().map_or(0, |(_, left)| left));
                    return result;
                }
                Err(changed) => before = settled(&mut machine, now, changed),
            }
        }
    }

    /// Differs between processes by the seed and between openings by the time; nobody has to be unable to
    /// guess it. The multiplier is 2⁶⁴ divided by the golden ratio (Knuth, volume 3, 6.4).
    const fn jitter(&self, now: Stamp) -> Jitter {
        let mixed = (self.seed ^ now.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Jitter((mixed >> 32) as u32)
    }
}

impl Watch<'_> {
    /// How the call ended, at `now`. What it returns is for the observer.
    pub(crate) fn saw(mut self, now: Stamp, seen: Seen) -> Option<BreakerTransition> {
        let ticket = self.ticket.take()?;
        self.breaker.report(now, ticket, seen)
    }

    /// A probe has so long from now before it has failed.
    #[cfg(feature = "tower")]
    pub(crate) fn extend(&self, longest: Duration) {
        if let Some(ticket) = self.ticket.filter(|ticket| ticket.is_probe()) {
            let now = time::now();
            let until = Stamp::of(time::after(now, longest));
            self.breaker
                .change(Stamp::of(now), |machine| machine.extend(ticket, until));
        }
    }

    /// The call succeeded, at once and without a look at the clock; `false` if that has to be told with the time.
    #[inline]
    pub(crate) fn succeeded_at_once(&mut self) -> bool {
        let is_counted = self
            .ticket
            .is_some_and(|ticket| !ticket.is_probe() && self.breaker.succeed(ticket.era()));
        if is_counted {
            self.ticket = None;
        }
        is_counted
    }

    /// Whether the call is a probe.
    #[cfg(test)]
    pub(crate) fn is_probe(&self) -> bool {
        self.ticket.is_some_and(Ticket::is_probe)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take()
            && ticket.is_probe()
        {
            let now = Stamp::now();
            self.breaker
                .change(now, |machine| machine.give_back(now, ticket));
        }
    }
}

/// Names itself only: what is inside is behind a lock.
impl fmt::Debug for BreakerCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BreakerCell")
    }
}

/// Lets the machine know what the word has counted; nothing, if that was in an era that is over now.
fn settled(machine: &mut Machine, now: Stamp, word: Word) -> Word {
    if let Some((era, left)) = word.left() {
        machine.settle(now, era, left);
    }
    word
}

fn rejected(until: Stamp, now: Stamp) -> Option<Rejected> {
    let left = until.0.checked_sub(now.0).filter(|&left| left > 0)?;
    Some(Rejected {
        retry_after: Some(Duration::from_nanos(left)),
    })
}

#[cfg(all(test, bulkhead_loom))]
mod model;

#[cfg(test)]
mod tests;
