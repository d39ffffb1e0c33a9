//! What retries are told, and the rules about it.
//!
//! A [`RetryPolicy`] is of a function, a [`RetryBudget`] of a partition. Both are what was written, in any order;
//! each rule stands alone, since the attribute calls each under the span of its value.

use std::fmt;
use std::time::Duration;

use super::error::RetryPolicyError;
use crate::policy::number::{PPM, less, ppm};

/// The most attempts, the first call included: each is one more caller of a dependency in trouble.
pub(crate) const MAX_ATTEMPTS: u32 = 10;

/// The shortest backoff: the finest that tokio's timer knows.
pub(crate) const MIN_BACKOFF: Duration = Duration::from_millis(1);

/// The longest backoff.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(60 * 60);

/// The longest backoff of a function, unless it is said.
const DEFAULT_CAP: Duration = Duration::from_secs(1);

/// The most retries of a window that no first attempts have paid for.
pub(crate) const MAX_MIN: u32 = 1_000;

/// The shortest window of a budget.
pub(crate) const MIN_WINDOW: Duration = Duration::from_secs(1);

/// The longest window of a budget.
pub(crate) const MAX_WINDOW: Duration = Duration::from_secs(60 * 60);

/// How often a function is tried, and how long it waits in between.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    backoff: Duration,
    cap: Option<Duration>,
}

impl RetryPolicy {
    /// At most `attempts`, the first call included, with `backoff` before the first retry at the longest.
    #[must_use]
    pub const fn new(attempts: u32, backoff: Duration) -> Self {
        Self {
            attempts,
            backoff,
            cap: None,
        }
    }

    /// The longest backoff, however many there were; left out, 1 s, or `backoff` where that is longer.
    #[must_use]
    pub const fn with_cap(mut self, cap: Duration) -> Self {
        self.cap = Some(cap);
        self
    }

    /// The most attempts, the first call included.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The longest wait before the first retry.
    #[must_use]
    pub const fn backoff(&self) -> Duration {
        self.backoff
    }

    /// The longest wait before any retry.
    #[must_use]
    pub const fn cap(&self) -> Duration {
        match self.cap {
            Some(cap) => cap,
            None if less(DEFAULT_CAP, self.backoff) => self.backoff,
            None => DEFAULT_CAP,
        }
    }

    /// The longest wait before a retry that has `retries` others before it: twice as long with each, up to `cap`.
    #[must_use]
    pub const fn longest_backoff(&self, retries: u32) -> Duration {
        let cap = self.cap();
        match 1_u32.checked_shl(retries) {
            Some(factor) => {
                let backoff = self.backoff.saturating_mul(factor);
                if less(backoff, cap) { backoff } else { cap }
            }
            None => cap,
        }
    }

    /// All of them together: what a call waits at the longest, besides its queue.
    #[must_use]
    pub const fn longest_backoffs(&self) -> Duration {
        let mut sum = Duration::ZERO;
        let mut retries = 0;
        while retries + 1 < self.attempts && retries < MAX_ATTEMPTS {
            sum = sum.saturating_add(self.longest_backoff(retries));
            retries += 1;
        }
        sum
    }

    /// The same, if every value is in its range.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub const fn checked(self) -> Result<Self, RetryPolicyError> {
        if let Err(error) = check_attempts(self.attempts) {
            return Err(error);
        }
        if let Err(error) = check_backoff(self.backoff) {
            return Err(error);
        }
        match check_cap(self.cap, self.backoff) {
            Ok(()) => Ok(self),
            Err(error) => Err(error),
        }
    }
}

/// How many retries a partition affords, over all its functions. Given to
/// [`Policy::with_retry_budget`](crate::Policy::with_retry_budget), or as `retry_budget(ratio = 20%, min = 3, window =
/// 10s)` in an attribute.
///
/// Retries help while a few calls fail. When all of them do, each retry is one more call of a dependency that is
/// already in trouble, and three attempts are three times the load. A budget stops that: retries are a share of the
/// calls, whatever happens. It is that of Finagle (`RetryBudget`):
///
/// - Every admitted first attempt of a function that owns its retries deposits `ratio` of a retry, and every retry that
///   is decided on withdraws a whole one. Nothing is refunded, also if the retry then finds no permit. Inside a call that
///   retries, a first attempt deposits nothing: it is itself part of an attempt.
/// - What is deposited expires with the `window`: a quiet night saves up nothing for the morning.
/// - `min` retries in each window need no deposit, so that a lone call can be retried.
///
/// It may be written in any order; the rules about it are looked at where it is given away.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::{Policy, RetryBudget};
///
/// const CARRIER: Policy = Policy::new(8).with_retry_budget(
///     RetryBudget::new().with_ratio(10.0).with_min(5).with_window(Duration::from_secs(30)),
/// );
/// assert_eq!(
///     CARRIER.to_string(),
///     "max = 8, queue = 0, retry_budget(ratio = 10%, min = 5, window = 30s)"
/// );
///
/// let never = RetryBudget::new().with_ratio(0.0).with_min(0);
/// let error = Policy::new(8).checked_retry_budget(never).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "a budget of `ratio = 0%` and `min = 0` never allows a retry: write for example `ratio = 20%`"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryBudget {
    ratio: u32,
    min: u32,
    window: Duration,
}

impl RetryBudget {
    /// A fifth of the calls, and three retries in ten seconds that need no calls.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ratio: PPM / 5,
            min: 3,
            window: Duration::from_secs(10),
        }
    }

    /// The retries that the calls of a window pay for, in percent of these: at most 100; left out, 20. 0 is legal
    /// where `min` is not 0. It is kept to four decimals.
    #[must_use]
    pub const fn with_ratio(self, percent: f64) -> Self {
        // 0 % is legal here, and so must be meant.
        let is_share = percent >= 0.0;
        self.ratio_in_ppm(if is_share { ppm(percent) } else { u32::MAX })
    }

    /// The retries of a window that nobody has to pay for: at most 1,000; left out, 3.
    #[must_use]
    pub const fn with_min(mut self, min: u32) -> Self {
        self.min = min;
        self
    }

    /// For how long a deposit is good: 1 s to 1 h; left out, 10 s.
    #[must_use]
    pub const fn with_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// For the expansion of the macros, in parts of a million.
    #[doc(hidden)]
    #[must_use]
    pub const fn ratio_in_ppm(mut self, ppm: u32) -> Self {
        self.ratio = ppm;
        self
    }

    /// What a first attempt deposits, in parts of a million of a retry.
    #[must_use]
    pub const fn ratio_ppm(&self) -> u32 {
        self.ratio
    }

    /// The retries of a window that nobody has to pay for.
    #[must_use]
    pub const fn min(&self) -> u32 {
        self.min
    }

    /// For how long a deposit is good.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// The same, if every value is in its range.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(crate) const fn checked(self) -> Result<Self, RetryPolicyError> {
        if let Err(error) = check_ratio(self.ratio, self.min) {
            return Err(error);
        }
        if let Err(error) = check_min(self.min) {
            return Err(error);
        }
        match check_budget_window(self.window) {
            Ok(()) => Ok(self),
            Err(error) => Err(error),
        }
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new()
    }
}

/// As it is written in an attribute.
impl fmt::Display for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = f64::from(self.ratio) / 10_000.0;
        let Self { min, window, .. } = self;
        write!(
            f,
            "retry_budget(ratio = {percent}%, min = {min}, window = {window:?})"
        )
    }
}

pub(crate) const fn check_attempts(attempts: u32) -> Result<(), RetryPolicyError> {
    match attempts {
        0 | 1 => Err(RetryPolicyError::AttemptsTooFew { attempts }),
        2..=MAX_ATTEMPTS => Ok(()),
        _ => Err(RetryPolicyError::AttemptsTooMany { attempts }),
    }
}

pub(crate) const fn check_backoff(backoff: Duration) -> Result<(), RetryPolicyError> {
    if less(backoff, MIN_BACKOFF) {
        Err(RetryPolicyError::BackoffTooShort { backoff })
    } else if less(MAX_BACKOFF, backoff) {
        Err(RetryPolicyError::BackoffTooLong { backoff })
    } else {
        Ok(())
    }
}

pub(crate) const fn check_cap(
    cap: Option<Duration>,
    backoff: Duration,
) -> Result<(), RetryPolicyError> {
    match cap {
        Some(cap) if less(cap, backoff) => Err(RetryPolicyError::CapBelowBackoff { cap, backoff }),
        Some(cap) if less(MAX_BACKOFF, cap) => Err(RetryPolicyError::CapTooLong { cap }),
        _ => Ok(()),
    }
}

pub(crate) const fn check_ratio(ppm: u32, min: u32) -> Result<(), RetryPolicyError> {
    match ppm {
        0 if min == 0 => Err(RetryPolicyError::BudgetOfNothing),
        0..=PPM => Ok(()),
        ratio => Err(RetryPolicyError::RatioTooLarge { ratio }),
    }
}

pub(crate) const fn check_min(min: u32) -> Result<(), RetryPolicyError> {
    match min {
        0..=MAX_MIN => Ok(()),
        _ => Err(RetryPolicyError::MinTooLarge { min }),
    }
}

pub(crate) const fn check_budget_window(window: Duration) -> Result<(), RetryPolicyError> {
    if less(window, MIN_WINDOW) {
        Err(RetryPolicyError::WindowTooShort { window })
    } else if less(MAX_WINDOW, window) {
        Err(RetryPolicyError::WindowTooLong { window })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::RetryPolicyError as E;
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const NS: Duration = Duration::from_nanos(1);
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn backoffs_double_up_to_the_cap_and_are_added_up_in_a_const() {
        const THREE: Duration = RetryPolicy::new(3, Duration::from_millis(40)).longest_backoffs();
        assert_eq!(THREE, 120 * MS);
        let capped = RetryPolicy::new(5, 40 * MS).with_cap(100 * MS);
        let each: Vec<_> = (0..4).map(|n| capped.longest_backoff(n)).collect();
        assert_eq!(each, [40 * MS, 80 * MS, 100 * MS, 100 * MS]);
        assert_eq!(capped.longest_backoffs(), 320 * MS);
        assert_eq!(RetryPolicy::new(2, MS).longest_backoffs(), MS);
    }

    #[test]
    fn a_cap_that_is_left_out_is_a_second_or_the_backoff() {
        assert_eq!(RetryPolicy::new(3, 40 * MS).cap(), 1_000 * MS);
        assert_eq!(RetryPolicy::new(3, 1_500 * MS).cap(), 1_500 * MS);
        let longest = RetryPolicy::new(3, 1_500 * MS).longest_backoffs();
        assert_eq!(longest, 3_000 * MS);
    }

    #[test]
    fn no_number_overflows_the_sum() {
        for attempts in [0, 1] {
            let policy = RetryPolicy::new(attempts, HOUR);
            assert_eq!(policy.longest_backoffs(), Duration::ZERO);
        }
        let policy = RetryPolicy::new(u32::MAX, Duration::MAX);
        assert_eq!(policy.longest_backoffs(), Duration::MAX);
        let policy = RetryPolicy::new(10, MS).with_cap(HOUR);
        assert_eq!(policy.longest_backoff(u32::MAX), HOUR);
    }

    #[test]
    fn both_ends_of_every_range_are_legal() {
        for policy in [
            RetryPolicy::new(2, MS),
            RetryPolicy::new(10, HOUR),
            RetryPolicy::new(2, 2 * MS).with_cap(2 * MS),
            RetryPolicy::new(2, HOUR).with_cap(HOUR),
        ] {
            assert!(policy.checked().is_ok(), "{:?}", policy.checked());
        }
        let new = RetryBudget::new();
        for budget in [
            new,
            new.with_ratio(0.0),
            new.with_ratio(100.0).with_min(0),
            new.with_min(1_000),
            new.with_window(1_000 * MS),
            new.with_window(HOUR),
        ] {
            assert!(budget.checked().is_ok(), "{:?}", budget.checked());
        }
    }

    #[test]
    fn whatever_is_next_to_a_range_is_refused_by_its_own_rule() {
        let backoff = Duration::from_micros(999);
        let (long, cap) = (HOUR + NS, MS);
        for (policy, error) in [
            (RetryPolicy::new(0, MS), E::AttemptsTooFew { attempts: 0 }),
            (RetryPolicy::new(1, MS), E::AttemptsTooFew { attempts: 1 }),
            (
                RetryPolicy::new(11, MS),
                E::AttemptsTooMany { attempts: 11 },
            ),
            (RetryPolicy::new(2, backoff), E::BackoffTooShort { backoff }),
            (
                RetryPolicy::new(2, long),
                E::BackoffTooLong { backoff: long },
            ),
            (
                RetryPolicy::new(2, 2 * MS).with_cap(cap),
                E::CapBelowBackoff {
                    cap,
                    backoff: 2 * MS,
                },
            ),
            (
                RetryPolicy::new(2, MS).with_cap(long),
                E::CapTooLong { cap: long },
            ),
        ] {
            assert_eq!(policy.checked(), Err(error));
        }
        let new = RetryBudget::new();
        let (ratio, min, window) = (1_000_001, 1_001, Duration::from_millis(999));
        for (budget, error) in [
            (new.ratio_in_ppm(ratio), E::RatioTooLarge { ratio }),
            (new.with_ratio(-1.0), E::RatioTooLarge { ratio: u32::MAX }),
            (
                new.with_ratio(f64::NAN),
                E::RatioTooLarge { ratio: u32::MAX },
            ),
            (new.with_ratio(0.0).with_min(0), E::BudgetOfNothing),
            (new.with_min(min), E::MinTooLarge { min }),
            (new.with_window(window), E::WindowTooShort { window }),
            (new.with_window(long), E::WindowTooLong { window: long }),
        ] {
            assert_eq!(budget.checked(), Err(error));
        }
    }

    #[test]
    fn a_budget_is_written_as_in_an_attribute() {
        assert_eq!(
            RetryBudget::new().with_ratio(12.5).to_string(),
            "retry_budget(ratio = 12.5%, min = 3, window = 10s)"
        );
    }
}
