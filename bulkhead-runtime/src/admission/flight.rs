//! A call in flight: it holds a permit, and however it ends, dropping it gives the permit back.

use super::gate::Gate;
use crate::outcome::Outcome;
use crate::time::{self, Instant};

/// One permit, with what its drop would mean right now.
///
/// Whoever runs the body says beforehand what an end at this point is: a panic while the body is
/// polled, a cancellation while it is parked. So no path has to remember to count.
#[derive(Debug)]
#[must_use = "dropping it gives the permit back at once"]
pub(crate) struct Flight<'g> {
    gate: &'g Gate,
    /// Set in the calls that are timed.
    since: Option<Instant>,
    outcome: Outcome,
}

impl<'g> Flight<'g> {
    /// A call that has just been admitted.
    #[inline]
    pub(super) fn begin(gate: &'g Gate, timed: bool) -> Self {
        Self::since(gate, timed.then(time::now))
    }

    #[inline]
    pub(super) fn since(gate: &'g Gate, since: Option<Instant>) -> Self {
        Self {
            gate,
            since,
            outcome: Outcome::Cancelled,
        }
    }

    /// From now on, its end means `outcome`.
    #[inline]
    pub(crate) fn means(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Flight<'_> {
    #[inline]
    fn drop(&mut self) {
        let held = self
            .since
            .map(|since| time::now().saturating_duration_since(since));
        self.gate.leave(self.outcome, held);
    }
}
