//! What a breaker tells when its state has changed: enough for an event, and nothing borrowed.

use std::fmt;
use std::time::Duration;

use super::window::Totals;

/// What a breaker does with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakerState {
    /// They pass, and are counted.
    Closed,
    /// None passes until the cool-down is over.
    Open,
    /// Only probes pass.
    HalfOpen,
    /// None passes until that is undone by hand.
    ForcedOpen,
    /// They pass, and are not counted, until that is undone by hand.
    Disabled,
}

impl BreakerState {
    /// `closed`, `open`, `half_open`, `forced_open`, `disabled`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
            Self::ForcedOpen => "forced_open",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the state of a breaker has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerCause {
    /// Too large a share of the calls in the window failed: it opened.
    #[non_exhaustive]
    FailureRate {
        /// In the window.
        calls: u64,
        /// Those of them that failed.
        failures: u64,
    },
    /// Too large a share of the calls in the window was slow: it opened.
    #[non_exhaustive]
    SlowRate {
        /// In the window.
        calls: u64,
        /// Those of them that were slow.
        slow: u64,
    },
    /// So many calls failed, and none succeeded between them: it opened.
    #[non_exhaustive]
    Consecutive {
        /// In a row.
        failures: u32,
    },
    /// The cool-down was over, and a call came: it is half-open.
    CooledDown,
    /// A probe failed: it opened again.
    ProbeFailed,
    /// A probe succeeded, but late: it opened again.
    ProbeSlow,
    /// A probe never ended: it opened again.
    ProbeExpired,
    /// As many probes succeeded as it takes: it closed.
    ProbesSucceeded,
    /// Somebody said so.
    ByHand,
}

impl BreakerCause {
    pub(super) const fn failure_rate(totals: Totals) -> Self {
        let Totals {
            calls, failures, ..
        } = totals;
        Self::FailureRate { calls, failures }
    }

    pub(super) const fn slow_rate(totals: Totals) -> Self {
        let Totals { calls, slow, .. } = totals;
        Self::SlowRate { calls, slow }
    }
}

impl fmt::Display for BreakerCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailureRate { calls, failures } => {
                write!(f, "{failures} of {calls} calls failed")
            }
            Self::SlowRate { calls, slow } => write!(f, "{slow} of {calls} calls were slow"),
            Self::Consecutive { failures } => write!(f, "{failures} calls in a row failed"),
            Self::CooledDown => f.write_str("the cool-down is over"),
            Self::ProbeFailed => f.write_str("a probe failed"),
            Self::ProbeSlow => f.write_str("a probe was slow"),
            Self::ProbeExpired => f.write_str("a probe never ended"),
            Self::ProbesSucceeded => f.write_str("the probes succeeded"),
            Self::ByHand => f.write_str("by hand"),
        }
    }
}

/// A change of the state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BreakerTransition {
    /// The state before.
    pub from: BreakerState,
    /// The state after.
    pub to: BreakerState,
    /// Rises with every transition of the breaker, so that a listener can put them in order.
    pub era: u64,
    /// Why.
    pub cause: BreakerCause,
    /// When it opened, the time until its next probe, jitter included.
    pub open_for: Option<Duration>,
}

/// The changes that one call brought about, in order; the observer is to hear of each, outside every lock.
///
/// Two at most: a probe is found to have expired so long ago that the cool-down which followed is over, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the observer never hears of these changes"]
pub(crate) struct Moves([Option<BreakerTransition>; 2]);

impl Moves {
    pub(super) const NONE: Self = Self([None, None]);

    pub(super) const fn of(
        first: Option<BreakerTransition>,
        second: Option<BreakerTransition>,
    ) -> Self {
        Self([first, second])
    }
}

impl IntoIterator for Moves {
    type Item = BreakerTransition;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<BreakerTransition>, 2>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}
