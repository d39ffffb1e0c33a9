//! Whether a partition rejects.

use std::fmt;
use std::str::FromStr;

/// Whether a partition rejects the calls that do not fit; set with [`Partition::mode`](crate::Partition::mode).
///
/// A [closed](crate::Partition::close) partition rejects in every mode, and the `timeout` of a function
/// holds in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an operator has these three choices"
)]
pub enum Mode {
    /// It does: the usual mode.
    #[default]
    Enforce,
    /// It lets everything run at once, and counts what it would have rejected, and what would have waited:
    /// [`Snapshot::would_reject`](crate::Snapshot::would_reject) and
    /// [`would_wait`](crate::Snapshot::would_wait).
    ///
    /// To see what a policy would do before it does it. Since nobody waits, a call that would have waited
    /// runs as well; one that comes while `max` and `queue` together are in flight would have been rejected,
    /// and one that never waits, by [`try_enter`](crate::Partition::try_enter), while `max` are.
    ///
    /// With a queue, `would_reject` is the least: of those that would have waited, some would have been rejected
    /// when their `wait` was over, in an overload most of them.
    Observe,
    /// It lets everything run at once and counts no call: one is in flight while it runs, and leaves no trace
    /// when it ends.
    ///
    /// For the night in which the partition itself is under suspicion.
    Off,
}

impl Mode {
    /// As it was kept: `mode as u32`.
    #[inline]
    pub(crate) const fn of(number: u32) -> Self {
        match number {
            0 => Self::Enforce,
            1 => Self::Observe,
            _ => Self::Off,
        }
    }

    /// `enforce`, `observe`, `off`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        [Self::Enforce, Self::Observe, Self::Off]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or(UnknownMode)
    }
}

/// A word that is no [`Mode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the modes are `enforce`, `observe` and `off`")]
#[non_exhaustive]
pub struct UnknownMode;
