//! What is wrong with a breaker's settings, and what to write instead.

use std::fmt;
use std::time::Duration;

use super::settings::MAX_PROBES;
use crate::policy::number::PPM;
use crate::policy::text::Text;

/// What is wrong with a breaker's settings.
///
/// Its text says what to write instead. While compiling it stands behind rustc's "evaluation
/// panicked".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerPolicyError {
    /// `failure_rate = 0%`.
    FailureRateZero,
    /// `failure_rate` above 100 %.
    #[non_exhaustive]
    FailureRateTooLarge {
        /// The share, in parts of a million.
        failure_rate: u32,
    },
    /// `slow` of no time.
    SlowZero,
    /// Every slow call has run into its timeout, and has failed by that.
    #[non_exhaustive]
    SlowNotBelowTimeout {
        /// From when on a call is slow.
        slow: Duration,
        /// The longest time of the body.
        timeout: Duration,
    },
    /// `slow_rate = 0%`.
    SlowRateZero,
    /// `slow_rate` above 100 %.
    #[non_exhaustive]
    SlowRateTooLarge {
        /// The share, in parts of a million.
        slow_rate: u32,
    },
    /// A share of slow calls, and nothing says which ones are slow.
    #[non_exhaustive]
    SlowRateWithoutSlow {
        /// The share, in parts of a million.
        slow_rate: u32,
    },
    /// `window` below 100 ms.
    #[non_exhaustive]
    WindowTooShort {
        /// The window.
        window: Duration,
    },
    /// `window` above 1 h.
    #[non_exhaustive]
    WindowTooLong {
        /// The window.
        window: Duration,
    },
    /// `min_calls = 0`.
    MinCallsZero,
    /// `consecutive = 0`.
    ConsecutiveZero,
    /// `open_for` below 1 ms.
    #[non_exhaustive]
    OpenForTooShort {
        /// The first cool-down.
        open_for: Duration,
    },
    /// `open_for` above 365 days.
    OpenForTooLong,
    /// `max_open_for` above 365 days.
    MaxOpenForTooLong,
    /// A longest cool-down that is shorter than the first.
    #[non_exhaustive]
    MaxOpenForBelowOpenFor {
        /// The longest cool-down.
        max_open_for: Duration,
        /// The first cool-down.
        open_for: Duration,
    },
    /// `probes = 0`.
    ProbesZero,
    /// `probes` above 1,000.
    #[non_exhaustive]
    ProbesTooMany {
        /// The probes.
        probes: u32,
    },
}

impl BreakerPolicyError {
    pub(crate) const fn text(self) -> Text {
        let text = Text::new();
        match self {
            Self::FailureRateZero => text.str(
                "`failure_rate` must be above 0 %: at 0 % the breaker would open without a failure; write for example `failure_rate = 50%`",
            ),
            Self::FailureRateTooLarge { failure_rate } => above_all("failure_rate", failure_rate),
            Self::SlowZero => text.str(
                "`slow` must be above 0: else every call is slow; write how long a slow call runs, for example `slow = 2s`",
            ),
            Self::SlowNotBelowTimeout { slow, timeout } => text
                .str("`slow` (")
                .duration(slow)
                .str(") must be shorter than `timeout` (")
                .duration(timeout)
                .str("): a call that has run for so long has failed, and none would only be slow; shorten `slow`, or remove it"),
            Self::SlowRateZero => text.str(
                "`slow_rate` must be above 0 %: at 0 % the breaker would open without a slow call; write for example `slow_rate = 50%`",
            ),
            Self::SlowRateTooLarge { slow_rate } => above_all("slow_rate", slow_rate),
            Self::SlowRateWithoutSlow { slow_rate } => text
                .str("`slow_rate` (")
                .percent(slow_rate)
                .str(") has no effect without `slow`: write how long a slow call runs, for example `slow = 2s`, or remove `slow_rate`"),
            Self::WindowTooShort { window } => text
                .str("`window` (")
                .duration(window)
                .str(") is too short for a share of its calls to mean something: write `window = 100ms` or more"),
            Self::WindowTooLong { window } => text
                .str("`window` (")
                .duration(window)
                .str(") is too long: what failed more than an hour ago says nothing about now; write `window = 1h` or less"),
            Self::MinCallsZero => text.str(
                "`min_calls` must be at least 1: of no calls there is no share; write for example `min_calls = 20`, and for rare calls `consecutive = 5`",
            ),
            Self::ConsecutiveZero => text.str(
                "`consecutive` must be at least 1: with 0 the breaker would open without a failure; write for example `consecutive = 5`, or remove it",
            ),
            Self::OpenForTooShort { open_for } => text
                .str("`open_for` (")
                .duration(open_for)
                .str(") must be at least 1 ms: else nothing is spared a dependency that fails; write for example `open_for = 30s`"),
            Self::OpenForTooLong => text.str("`open_for` is too long: the limit is 365 days"),
            Self::MaxOpenForTooLong => text.str("`max_open_for` is too long: the limit is 365 days"),
            Self::MaxOpenForBelowOpenFor {
                max_open_for,
                open_for,
            } => text
                .str("`max_open_for` (")
                .duration(max_open_for)
                .str(") cannot be shorter than `open_for` (")
                .duration(open_for)
                .str("), which is where the cool-down begins; write `max_open_for = ")
                .duration(open_for)
                .str("` or more"),
            Self::ProbesZero => text.str(
                "`probes` must be at least 1: with 0 nothing would ever close the breaker; write for example `probes = 2`",
            ),
            Self::ProbesTooMany { probes } => text
                .str("`probes` (")
                .number(probes as u64)
                .str(") are too many: they are the first calls of a dependency that may still be down; the limit is ")
                .number(MAX_PROBES as u64),
        }
    }
}

const fn above_all(key: &str, ppm: u32) -> Text {
    // `Text::percent` adds half a unit, which the last numbers of a u32 have no room for.
    let shown = if ppm > 1_000 * PPM { 1_000 * PPM } else { ppm };
    Text::new()
        .str("`")
        .str(key)
        .str("` (")
        .percent(shown)
        .str(") is more than all calls: write `")
        .str(key)
        .str(" = 100%` or less")
}

impl fmt::Display for BreakerPolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl std::error::Error for BreakerPolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_is_wrong_with_the_numbers_and_what_to_write_instead() {
        let second = Duration::from_secs(1);
        for (error, expected) in [
            (
                BreakerPolicyError::FailureRateTooLarge {
                    failure_rate: 1_500_000,
                },
                "`failure_rate` (150.0 %) is more than all calls: write `failure_rate = 100%` or less",
            ),
            (
                BreakerPolicyError::SlowRateWithoutSlow { slow_rate: 300_000 },
                "`slow_rate` (30.0 %) has no effect without `slow`: write how long a slow call runs, for example `slow = 2s`, or remove `slow_rate`",
            ),
            (
                BreakerPolicyError::MaxOpenForBelowOpenFor {
                    max_open_for: second,
                    open_for: 30 * second,
                },
                "`max_open_for` (1s) cannot be shorter than `open_for` (30s), which is where the cool-down begins; write `max_open_for = 30s` or more",
            ),
            (
                BreakerPolicyError::WindowTooShort {
                    window: second / 20,
                },
                "`window` (50ms) is too short for a share of its calls to mean something: write `window = 100ms` or more",
            ),
            (
                BreakerPolicyError::SlowNotBelowTimeout {
                    slow: 2 * second,
                    timeout: second / 2,
                },
                "`slow` (2s) must be shorter than `timeout` (500ms): a call that has run for so long has failed, and none would only be slow; shorten `slow`, or remove it",
            ),
            (
                BreakerPolicyError::ProbesTooMany { probes: 1_001 },
                "`probes` (1001) are too many: they are the first calls of a dependency that may still be down; the limit is 1000",
            ),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_largest_number_has_a_text_too() {
        let error = BreakerPolicyError::SlowRateTooLarge {
            slow_rate: u32::MAX,
        };
        assert_eq!(
            error.to_string(),
            "`slow_rate` (100000.0 %) is more than all calls: write `slow_rate = 100%` or less"
        );
    }
}
