//! What is wrong with the settings of retries, and what to write instead.

use std::fmt;
use std::time::Duration;

use super::settings::{MAX_ATTEMPTS, MAX_MIN};
use crate::policy::text::Text;

/// What is wrong with the settings of retries, or with a budget for them.
///
/// Its text says what to write instead. While compiling it stands behind rustc's "evaluation
/// panicked".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryPolicyError {
    /// `attempts` below 2.
    #[non_exhaustive]
    AttemptsTooFew {
        /// The attempts.
        attempts: u32,
    },
    /// `attempts` above 10.
    #[non_exhaustive]
    AttemptsTooMany {
        /// The attempts.
        attempts: u32,
    },
    /// `backoff` below 1 ms.
    #[non_exhaustive]
    BackoffTooShort {
        /// The backoff.
        backoff: Duration,
    },
    /// `backoff` above 1 h.
    #[non_exhaustive]
    BackoffTooLong {
        /// The backoff.
        backoff: Duration,
    },
    /// A longest backoff that is shorter than the first.
    #[non_exhaustive]
    CapBelowBackoff {
        /// The longest backoff.
        cap: Duration,
        /// The first backoff.
        backoff: Duration,
    },
    /// `cap` above 1 h.
    #[non_exhaustive]
    CapTooLong {
        /// The longest backoff.
        cap: Duration,
    },
    /// A budget whose `ratio` and `min` are both 0.
    BudgetOfNothing,
    /// `ratio` above 100 %.
    #[non_exhaustive]
    RatioTooLarge {
        /// The share, in parts of a million.
        ratio: u32,
    },
    /// `min` above 1,000.
    #[non_exhaustive]
    MinTooLarge {
        /// The retries that need no deposit.
        min: u32,
    },
    /// The window of a budget, below 1 s.
    #[non_exhaustive]
    WindowTooShort {
        /// The window.
        window: Duration,
    },
    /// The window of a budget, above 1 h.
    #[non_exhaustive]
    WindowTooLong {
        /// The window.
        window: Duration,
    },
}

impl RetryPolicyError {
    pub(crate) const fn text(self) -> Text {
        let text = Text::new();
        match self {
            Self::AttemptsTooFew { attempts } => text
                .str("`attempts = ")
                .number(attempts as u64)
                .str("` never retries, since the first call counts: remove `retry`, or write `attempts = 3`"),
            Self::AttemptsTooMany { attempts } => text
                .str("`attempts` (")
                .number(attempts as u64)
                .str(") are too many: each is one more call of a dependency in trouble; the limit is ")
                .number(MAX_ATTEMPTS as u64),
            Self::BackoffTooShort { backoff } => text
                .str("`backoff` (")
                .duration(backoff)
                .str(") must be at least 1 ms, the finest that the timer knows: a retry at once meets what the call has just met; write for example `backoff = 40ms`"),
            Self::BackoffTooLong { backoff } => text
                .str("`backoff` (")
                .duration(backoff)
                .str(") is longer than anybody waits; write `backoff = 1h` or less"),
            Self::CapBelowBackoff { cap, backoff } => text
                .str("`cap` (")
                .duration(cap)
                .str(") cannot be shorter than `backoff` (")
                .duration(backoff)
                .str("), which is where backoffs begin; write `cap = ")
                .duration(backoff)
                .str("` or more"),
            Self::CapTooLong { cap } => text
                .str("`cap` (")
                .duration(cap)
                .str(") is longer than anybody waits; write `cap = 1h` or less"),
            Self::BudgetOfNothing => text.str(
                "a budget of `ratio = 0%` and `min = 0` never allows a retry: write for example `ratio = 20%`",
            ),
            Self::RatioTooLarge { ratio } => {
                // `Text::percent` adds half a unit, which the last numbers of a u32 have no room for.
                let shown = if ratio > 1_000_000_000 { 1_000_000_000 } else { ratio };
                text.str("`ratio` (")
                    .percent(shown)
                    .str(") is more than one retry for each call: write `ratio = 100%` or less")
            }
            Self::MinTooLarge { min } => text
                .str("`min` (")
                .number(min as u64)
                .str(") is too large: retries that no call has paid for are for lone calls; the limit is ")
                .number(MAX_MIN as u64),
            Self::WindowTooShort { window } => text
                .str("`window` (")
                .duration(window)
                .str(") is too short for calls to pay for a retry: write `window = 1s` or more"),
            Self::WindowTooLong { window } => text
                .str("`window` (")
                .duration(window)
                .str(") is too long: calls of more than an hour ago pay for no retry now; write `window = 1h` or less"),
        }
    }
}

impl fmt::Display for RetryPolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl std::error::Error for RetryPolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_is_wrong_with_the_numbers_and_what_to_write_instead() {
        let ms = Duration::from_millis;
        for (error, expected) in [
            (
                RetryPolicyError::AttemptsTooFew { attempts: 1 },
                "`attempts = 1` never retries, since the first call counts: remove `retry`, or write `attempts = 3`",
            ),
            (
                RetryPolicyError::CapBelowBackoff {
                    cap: ms(10),
                    backoff: ms(40),
                },
                "`cap` (10ms) cannot be shorter than `backoff` (40ms), which is where backoffs begin; write `cap = 40ms` or more",
            ),
            (
                RetryPolicyError::RatioTooLarge { ratio: u32::MAX },
                "`ratio` (100000.0 %) is more than one retry for each call: write `ratio = 100%` or less",
            ),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }
}
