//! The one atomic word that answers for the machine as long as nothing is wrong. Pure: no atomics here.
//!
//! | bits | field |
//! |---|---|
//! | 0–2 | the state |
//! | 3–63 | closed, disabled: the era. Open: the end of the cool-down, in nanoseconds. Else 0 |
//!
//! It is a copy: the machine decides, and whoever changes it writes the word anew before unlocking. A word
//! that is out of date answers as it would have a moment ago, and no answer that it gives takes anything:
//! an ordinary ticket is an era and nothing more, and is void when that is over. Probes, of which there
//! are few, are never had from the word.
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
    pub(super) fn of(machine: &Machine) -> Self {
        let era = machine.era();
        match machine.state() {
            BreakerState::Closed => Self::closed(era),
            BreakerState::Disabled => Self::new(DISABLED, era),
            BreakerState::ForcedOpen => Self::new(FORCED_OPEN, 0),
            BreakerState::HalfOpen => Self::new(HALF_OPEN, 0),
            BreakerState::Open => Self::new(OPEN, machine.open_until().map_or(0, |until| until.0)),
        }
    }

    pub(super) fn closed(era: u64) -> Self {
        Self::new(CLOSED, era)
    }

    fn new(state: u64, rest: u64) -> Self {
        Self(rest.min(MOST) << STATE_BITS | state)
    }

    pub(super) const fn answer(self) -> Answer {
        let rest = self.0 >> STATE_BITS;
        match self.0 & STATE {
            CLOSED | DISABLED => Answer::Pass { era: rest },
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
        assert_eq!(Word::closed(7).answer(), Answer::Pass { era: 7 });
        assert_eq!(Word::new(DISABLED, 8).answer(), Answer::Pass { era: 8 });
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
