//! The one word that answers for the machine wherever it can: closed, open and by hand. Pure: no atomics here.
//!
//! | bits | field |
//! |---|---|
//! | 0–2 | the state |
//! | 3–63 | open: the end of the cool-down, in nanoseconds. Half-open and forced open: 0 |
//! | 3–10 | closed: the successes that may still be counted here; disabled: 0 |
//! | 11–63 | closed, disabled: the era |
//!
//! It is a copy: the machine decides, and whoever changes it writes the word anew before unlocking. A word
//! that is out of date answers as it would have a moment ago, and no answer that it gives takes anything:
//! an ordinary ticket is an era and nothing more, and is void when that is over. Probes, of which there
//! are few, are never had from the word.
//!
//! What the word alone knows is how many successes it was granted and has counted since, one by one, with a
//! compare-exchange: in another era that fails. Whoever changes the machine settles that first.
//!
//! An end of the cool-down that does not fit, 73 years after the first stamp, is written as the largest
//! that does: then the machine is asked too early, and not too late.

use super::machine::Machine;
use super::transition::BreakerState;
use crate::time::Stamp;

/// A value of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

const STATE_BITS: u32 = 3;
const STATE: u64 = (1 << STATE_BITS) - 1;
const MOST: u64 = u64::MAX >> STATE_BITS;

const LEFT_BITS: u32 = 8;
const LEFT: u64 = (1 << LEFT_BITS) - 1;
const ONE: u64 = 1 << STATE_BITS;

const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const HALF_OPEN: u64 = 2;
const FORCED_OPEN: u64 = 3;
const DISABLED: u64 = 4;

/// What the word alone can tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Every call passes.
    Pass { era: u64 },
    /// No call passes before `until`.
    Open { until: Stamp },
    /// No call passes at all.
    ForcedOpen,
    /// The machine has to be asked, under its lock.
    Ask,
}

impl Word {
    pub(super) fn of(machine: &Machine, now: Stamp) -> Self {
        let era = machine.era();
        match machine.state() {
            BreakerState::Closed => Self::closed(era, machine.grants(now)),
            BreakerState::Disabled => Self::new(DISABLED, era << LEFT_BITS),
            BreakerState::ForcedOpen => Self::new(FORCED_OPEN, 0),
            BreakerState::HalfOpen => Self::new(HALF_OPEN, 0),
            BreakerState::Open => Self::new(OPEN, machine.open_until().map_or(0, |until| until.0)),
        }
    }

    pub(super) fn closed(era: u64, left: u32) -> Self {
        Self::new(CLOSED, era << LEFT_BITS | u64::from(left))
    }

    /// Whether the era that is closed is still that one.
    pub(super) const fn is_closed_in(self, era: u64) -> bool {
        self.0 & STATE == CLOSED && self.0 >> (STATE_BITS + LEFT_BITS) == era
    }

    /// The era that is closed, and the successes that may still be counted in it.
    pub(super) const fn left(self) -> Option<(u64, u32)> {
        if self.0 & STATE == CLOSED {
            let rest = self.0 >> STATE_BITS;
            Some((rest >> LEFT_BITS, (rest & LEFT) as u32))
        } else {
            None
        }
    }

    /// Nothing is wrong and calls are many: the next success may be counted here.
    pub(super) const fn is_calm(self) -> bool {
        self.0 & STATE == CLOSED && self.0 & (LEFT << STATE_BITS) != 0
    }

    /// With one success more counted, and so one less left; of a word that is calm.
    pub(super) const fn less_one(self) -> Self {
        Self(self.0 - ONE)
    }

    fn new(state: u64, rest: u64) -> Self {
        Self(rest.min(MOST) << STATE_BITS | state)
    }

    pub(super) const fn answer(self) -> Answer {
        let rest = self.0 >> STATE_BITS;
        match self.0 & STATE {
            CLOSED | DISABLED => Answer::Pass {
                era: rest >> LEFT_BITS,
            },
            OPEN => Answer::Open { until: Stamp(rest) },
            FORCED_OPEN => Answer::ForcedOpen,
            _ => Answer::Ask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_gives_back_what_was_put_into_it() {
        assert_eq!(Word::closed(7, 3).answer(), Answer::Pass { era: 7 });
        assert_eq!(Word::closed(7, 3).left(), Some((7, 3)));
        assert_eq!(Word::closed(7, 1).less_one(), Word::closed(7, 0));
        assert!(Word::closed(7, 1).is_calm() && !Word::closed(7, 0).is_calm());
        assert!(Word::closed(7, 9).is_closed_in(7) && !Word::closed(7, 9).is_closed_in(8));
        assert_eq!(
            Word::new(DISABLED, 8 << LEFT_BITS).answer(),
            Answer::Pass { era: 8 }
        );
        assert_eq!(Word::new(FORCED_OPEN, 0).answer(), Answer::ForcedOpen);
        assert_eq!(Word::new(HALF_OPEN, 0).answer(), Answer::Ask);
        for until in [0, 1, MOST] {
            let open = Answer::Open {
                until: Stamp(until),
            };
            assert_eq!(Word::new(OPEN, until).answer(), open);
        }
    }

    #[test]
    fn an_end_that_does_not_fit_is_too_early_and_still_an_end() {
        let until = Stamp(MOST);
        for too_late in [MOST + 2, u64::MAX] {
            assert_eq!(Word::new(OPEN, too_late).answer(), Answer::Open { until });
        }
    }
}
