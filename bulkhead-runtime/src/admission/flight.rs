//! A call in flight: it holds a permit, and however it ends, dropping it gives the permit back.

use super::gate::Gate;
use crate::outcome::Outcome;
use crate::time::Stamp;

/// One permit, with what its drop would mean right now.
///
/// Whoever runs the body says beforehand what an end at this point is: a panic while the body is
/// polled, a cancellation while it is parked. So no path has to remember to count.
#[derive(Debug)]
#[must_use = "dropping it gives the permit back at once"]
pub(crate) struct Flight<'g> {
    gate: &'g Gate,
    note: Note,
}

impl<'g> Flight<'g> {
    /// A call that has just been admitted; one in many is timed.
    #[inline]
    pub(super) fn begin(gate: &'g Gate, is_timed: bool) -> Self {
        let note = if is_timed {
            Note::timed(Stamp::now())
        } else {
            Note::UNTIMED
        };
        Self { gate, note }
    }

    /// The same at an instant that is already known.
    #[inline]
    pub(super) fn begin_at(gate: &'g Gate, since: Option<Stamp>) -> Self {
        Self {
            gate,
            note: since.map_or(Note::UNTIMED, Note::timed),
        }
    }

    /// From now on, its end means `outcome`.
    #[inline]
    pub(crate) fn means(&mut self, outcome: Outcome) {
        self.note = self.note.with(outcome);
    }
}

impl Drop for Flight<'_> {
    #[inline]
    fn drop(&mut self) {
        let outcome = self.note.outcome();
        if let Some(since) = self.note.since() {
            self.gate.sample(since, outcome);
        }
        self.gate.leave(outcome);
    }
}

/// When a call began, if it is timed, and what its end means.
///
/// In one number: with the reference to its gate, a flight then travels in two registers. As three
/// fields it took the way through memory, in pieces, and that cost as much as an atomic operation.
#[derive(Debug, Clone, Copy)]
struct Note(u64);

impl Note {
    const OUTCOME: u64 = 0b111;
    const UNTIMED: Self = Self(Outcome::Cancelled as u64);

    #[inline]
    fn timed(since: Stamp) -> Self {
        Self(since.0.min(u64::MAX >> 3) << 3).with(Outcome::Cancelled)
    }

    #[inline]
    fn with(self, outcome: Outcome) -> Self {
        Self(self.0 & !Self::OUTCOME | outcome as u64)
    }

    #[inline]
    fn outcome(self) -> Outcome {
        match self.0 & Self::OUTCOME {
            0 => Outcome::Success,
            1 => Outcome::Failure,
            2 => Outcome::Ignored,
            3 => Outcome::TimedOut,
            4 => Outcome::Panicked,
            5 => Outcome::Cancelled,
            _ => Outcome::Unstarted,
        }
    }

    #[inline]
    fn since(self) -> Option<Stamp> {
        let since = self.0 >> 3;
        (since > 0).then_some(Stamp(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_keeps_both_of_its_parts() {
        let outcomes = [
            Outcome::Success,
            Outcome::Failure,
            Outcome::Ignored,
            Outcome::TimedOut,
            Outcome::Panicked,
            Outcome::Cancelled,
            Outcome::Unstarted,
        ];
        for outcome in outcomes {
            let untimed = Note::UNTIMED.with(outcome);
            assert_eq!((untimed.outcome(), untimed.since()), (outcome, None));
            let timed = Note::timed(Stamp(7)).with(outcome);
            assert_eq!((timed.outcome(), timed.since()), (outcome, Some(Stamp(7))));
        }
    }
}
