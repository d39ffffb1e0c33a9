//! What a breaker tells when its state has changed: enough for an event, and nothing borrowed.

use std::time::Duration;

use super::window::Totals;

/// The name of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Calls pass, and are counted.
    Closed,
    /// No call passes until the cool-down is over.
    Open,
    /// Only probes pass.
    HalfOpen,
    /// No call passes until that is undone by hand.
    ForcedOpen,
    /// Calls pass, and nothing is counted.
    Disabled,
}

/// Why a state has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Closed → open: too large a share of these calls failed.
    FailureRate(Totals),
    /// Closed → open: too large a share of these calls was slow.
    SlowRate(Totals),
    /// Closed → open: so many calls failed, and none succeeded between them.
    Consecutive(u32),
    /// Open → half-open.
    CooledDown,
    /// Half-open → open.
    ProbeFailed,
    /// Half-open → open: it answered, but late.
    ProbeSlow,
    /// Half-open → open: it never answered.
    ProbeExpired,
    /// Half-open → closed.
    ProbesSucceeded,
    /// Any → forced open, disabled, or closed.
    ByHand,
}

/// A change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) from: State,
    pub(crate) to: State,
    /// The era that begins with it.
    pub(crate) era: u64,
    pub(crate) cause: Cause,
    /// Into open: the cool-down that begins with it, jitter included.
    pub(crate) open_for: Option<Duration>,
}

/// The changes that one call brought about, in order; the observer is to hear of each, outside every lock.
///
/// Two at most: a probe is found to have expired so long ago that the cool-down which followed is over, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the observer never hears of these changes"]
pub(crate) struct Moves([Option<Transition>; 2]);

impl Moves {
    pub(super) const NONE: Self = Self([None, None]);

    pub(super) const fn of(first: Option<Transition>, second: Option<Transition>) -> Self {
        Self([first, second])
    }
}

impl IntoIterator for Moves {
    type Item = Transition;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<Transition>, 2>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}
