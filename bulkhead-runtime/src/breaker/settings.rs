//! What a breaker is told, and the rules about it.
//!
//! A [`BreakerPolicy`] is what was written, in any order; [`Settings`] can only be had from one that obeys
//! every rule. So the machine divides by nothing that may be 0. Each rule stands alone as well, since the
//! attribute calls each under the span of its value.

use std::fmt;
use std::time::Duration;

use super::error::BreakerPolicyError;
use crate::policy::number::{PPM, less, ppm};

/// The shortest window: below it a tenth of the window is finer than a timer.
pub(crate) const MIN_WINDOW: Duration = Duration::from_millis(100);

/// The longest window.
pub(crate) const MAX_WINDOW: Duration = Duration::from_secs(60 * 60);

/// The shortest cool-down.
pub(crate) const MIN_OPEN_FOR: Duration = Duration::from_millis(1);

/// The longest cool-down, before jitter.
pub(crate) const MAX_OPEN_FOR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The most probes.
pub(crate) const MAX_PROBES: u32 = 1_000;

/// The first cool-down, unless it is said.
pub(crate) const DEFAULT_OPEN_FOR: Duration = Duration::from_secs(30);

const DEFAULT_MAX_OPEN_FOR: Duration = Duration::from_secs(5 * 60);

/// When a breaker opens, and how it comes back. Given to [`Policy::with_breaker`](crate::Policy::with_breaker),
/// or as `breaker(failure_rate = 50%, window = 10s, …)` in an attribute.
///
/// It may be written in any order; the rules about it are looked at where it is given away.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::{BreakerPolicy, Policy};
///
/// const PARTNER: Policy = Policy::new(8).with_breaker(
///     BreakerPolicy::new()
///         .with_failure_rate(30.0)
///         .with_slow(Duration::from_secs(2))
///         .with_open_for(Duration::from_secs(15)),
/// );
/// # assert!(PARTNER.breaker().is_some());
/// let error = Policy::new(8).checked_breaker(BreakerPolicy::new().with_probes(0)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`probes` must be at least 1: with 0 nothing would ever close the breaker; write for example `probes = 2`"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    failure_rate: u32,
    slow: Option<Duration>,
    slow_rate: Option<u32>,
    window: Duration,
    min_calls: u32,
    consecutive: Option<u32>,
    open_for: Duration,
    max_open_for: Option<Duration>,
    probes: u32,
}

/// Settings that obey every rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings(BreakerPolicy);

impl BreakerPolicy {
    /// Half of at least 20 calls in ten seconds opens; half a minute later two probes go out.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            failure_rate: PPM / 2,
            slow: None,
            slow_rate: None,
            window: Duration::from_secs(10),
            min_calls: 20,
            consecutive: None,
            open_for: DEFAULT_OPEN_FOR,
            max_open_for: None,
            probes: 2,
        }
    }

    /// The share of failures that opens, in percent: above 0, and at most 100; left out, 50. It is kept to
    /// four decimals.
    #[must_use]
    pub const fn with_failure_rate(self, percent: f64) -> Self {
        self.failure_ppm(ppm(percent))
    }

    /// From what time on a call is slow: above 0; left out, none is.
    #[must_use]
    pub const fn with_slow(mut self, slow: Duration) -> Self {
        self.slow = Some(slow);
        self
    }

    /// The share of slow calls that opens, in percent: above 0, and at most 100; left out, that of
    /// failures. It is kept to four decimals.
    #[must_use]
    pub const fn with_slow_rate(self, percent: f64) -> Self {
        self.slow_ppm(ppm(percent))
    }

    /// For how long a call counts: 100 ms to 1 h; left out, 10 s.
    #[must_use]
    pub const fn with_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// How many calls a share needs: at least 1; left out, 20.
    #[must_use]
    pub const fn with_min_calls(mut self, min_calls: u32) -> Self {
        self.min_calls = min_calls;
        self
    }

    /// How many failures without a success between them open, however few calls there are: at least 1;
    /// left out, no number does.
    #[must_use]
    pub const fn with_consecutive(mut self, consecutive: u32) -> Self {
        self.consecutive = Some(consecutive);
        self
    }

    /// The first cool-down: 1 ms to 365 days; left out, 30 s.
    #[must_use]
    pub const fn with_open_for(mut self, open_for: Duration) -> Self {
        self.open_for = open_for;
        self
    }

    /// The longest cool-down, before jitter: from `open_for` to 365 days; left out, 5 min, or
    /// `open_for` where that is longer.
    #[must_use]
    pub const fn with_max_open_for(mut self, max_open_for: Duration) -> Self {
        self.max_open_for = Some(max_open_for);
        self
    }

    /// How many probes succeed before it closes: 1 to 1,000; left out, 2.
    #[must_use]
    pub const fn with_probes(mut self, probes: u32) -> Self {
        self.probes = probes;
        self
    }

    /// For the expansion of the macros, in parts of a million.
    #[doc(hidden)]
    #[must_use]
    pub const fn failure_ppm(mut self, ppm: u32) -> Self {
        self.failure_rate = ppm;
        self
    }

    /// For the expansion of the macros, in parts of a million.
    #[doc(hidden)]
    #[must_use]
    pub const fn slow_ppm(mut self, ppm: u32) -> Self {
        self.slow_rate = Some(ppm);
        self
    }

    /// # Errors
    /// The first rule that is broken.
    pub(crate) const fn checked(self) -> Result<Settings, BreakerPolicyError> {
        match self.first_error() {
            Some(error) => Err(error),
            None => Ok(Settings(self)),
        }
    }

    /// # Panics
    /// With the first rule that is broken; in a `const` that is a compile error.
    #[cfg(test)]
    pub(crate) const fn demanded(self) -> Settings {
        match self.checked() {
            Ok(settings) => settings,
            Err(error) => panic!("{}", error.text().as_str()),
        }
    }

    const fn first_error(self) -> Option<BreakerPolicyError> {
        let results = [
            check_failure_rate(self.failure_rate),
            check_slow(self.slow),
            check_slow_rate(self.slow_rate, self.slow),
            check_window(self.window),
            check_min_calls(self.min_calls),
            check_consecutive(self.consecutive),
            check_open_for(self.open_for),
            check_max_open_for(self.max_open_for, self.open_for),
            check_probes(self.probes),
        ];
        let mut at = 0;
        while at < results.len() {
            if let Err(error) = results[at] {
                return Some(error);
            }
            at += 1;
        }
        None
    }
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self::new()
    }
}

/// As it is written in an attribute.
impl fmt::Display for BreakerPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ppm: u32| f64::from(ppm) / 10_000.0;
        write!(f, "breaker(failure_rate = {}%", percent(self.failure_rate))?;
        if let Some(slow) = self.slow {
            write!(f, ", slow = {slow:?}")?;
        }
        if let Some(slow_rate) = self.slow_rate {
            write!(f, ", slow_rate = {}%", percent(slow_rate))?;
        }
        write!(
            f,
            ", window = {:?}, min_calls = {}",
            self.window, self.min_calls
        )?;
        if let Some(consecutive) = self.consecutive {
            write!(f, ", consecutive = {consecutive}")?;
        }
        write!(f, ", open_for = {:?}", self.open_for)?;
        if let Some(max_open_for) = self.max_open_for {
            write!(f, ", max_open_for = {max_open_for:?}")?;
        }
        write!(f, ", probes = {})", self.probes)
    }
}

impl Settings {
    pub(crate) const DEFAULT: Self = Self(BreakerPolicy::new());

    /// The share of failures that opens, in parts of a million.
    #[must_use]
    pub(crate) const fn failure_rate(&self) -> u32 {
        self.0.failure_rate
    }

    /// From what time on a call is slow.
    #[must_use]
    pub(crate) const fn slow(&self) -> Option<Duration> {
        self.0.slow
    }

    /// The share of slow calls that opens, in parts of a million, if any call is slow.
    #[must_use]
    pub(crate) const fn slow_rate(&self) -> Option<u32> {
        match (self.0.slow, self.0.slow_rate) {
            (None, _) => None,
            (Some(_), None) => Some(self.0.failure_rate),
            (Some(_), said) => said,
        }
    }

    /// For how long a call counts.
    #[must_use]
    pub(crate) const fn window(&self) -> Duration {
        self.0.window
    }

    /// How many calls a share needs.
    #[must_use]
    pub(crate) const fn min_calls(&self) -> u32 {
        self.0.min_calls
    }

    /// How many failures without a success between them open.
    #[must_use]
    pub(crate) const fn consecutive(&self) -> Option<u32> {
        self.0.consecutive
    }

    /// The first cool-down.
    #[must_use]
    pub(crate) const fn open_for(&self) -> Duration {
        self.0.open_for
    }

    /// The longest cool-down, before jitter.
    #[must_use]
    pub(crate) const fn max_open_for(&self) -> Duration {
        match self.0.max_open_for {
            Some(said) => said,
            None if less(DEFAULT_MAX_OPEN_FOR, self.0.open_for) => self.0.open_for,
            None => DEFAULT_MAX_OPEN_FOR,
        }
    }

    /// How many probes succeed before it closes.
    #[must_use]
    pub(crate) const fn probes(&self) -> u32 {
        self.0.probes
    }
}

pub(crate) const fn check_failure_rate(ppm: u32) -> Result<(), BreakerPolicyError> {
    match ppm {
        0 => Err(BreakerPolicyError::FailureRateZero),
        1..=PPM => Ok(()),
        failure_rate => Err(BreakerPolicyError::FailureRateTooLarge { failure_rate }),
    }
}

pub(crate) const fn check_slow(slow: Option<Duration>) -> Result<(), BreakerPolicyError> {
    match slow {
        Some(Duration::ZERO) => Err(BreakerPolicyError::SlowZero),
        _ => Ok(()),
    }
}

/// Of every function that uses the breaker: the breaker itself knows no `timeout`.
pub(crate) const fn check_slow_below_timeout(
    slow: Duration,
    timeout: Duration,
) -> Result<(), BreakerPolicyError> {
    if less(slow, timeout) {
        Ok(())
    } else {
        Err(BreakerPolicyError::SlowNotBelowTimeout { slow, timeout })
    }
}

pub(crate) const fn check_slow_rate(
    ppm: Option<u32>,
    slow: Option<Duration>,
) -> Result<(), BreakerPolicyError> {
    match (ppm, slow) {
        (Some(0), _) => Err(BreakerPolicyError::SlowRateZero),
        (Some(slow_rate), _) if slow_rate > PPM => {
            Err(BreakerPolicyError::SlowRateTooLarge { slow_rate })
        }
        (Some(slow_rate), None) => Err(BreakerPolicyError::SlowRateWithoutSlow { slow_rate }),
        _ => Ok(()),
    }
}

pub(crate) const fn check_window(window: Duration) -> Result<(), BreakerPolicyError> {
    if less(window, MIN_WINDOW) {
        Err(BreakerPolicyError::WindowTooShort { window })
    } else if less(MAX_WINDOW, window) {
        Err(BreakerPolicyError::WindowTooLong { window })
    } else {
        Ok(())
    }
}

pub(crate) const fn check_min_calls(min_calls: u32) -> Result<(), BreakerPolicyError> {
    match min_calls {
        0 => Err(BreakerPolicyError::MinCallsZero),
        _ => Ok(()),
    }
}

pub(crate) const fn check_consecutive(consecutive: Option<u32>) -> Result<(), BreakerPolicyError> {
    match consecutive {
        Some(0) => Err(BreakerPolicyError::ConsecutiveZero),
        _ => Ok(()),
    }
}

pub(crate) const fn check_open_for(open_for: Duration) -> Result<(), BreakerPolicyError> {
    if less(open_for, MIN_OPEN_FOR) {
        Err(BreakerPolicyError::OpenForTooShort { open_for })
    } else if less(MAX_OPEN_FOR, open_for) {
        Err(BreakerPolicyError::OpenForTooLong)
    } else {
        Ok(())
    }
}

pub(crate) const fn check_max_open_for(
    max_open_for: Option<Duration>,
    open_for: Duration,
) -> Result<(), BreakerPolicyError> {
    match max_open_for {
        Some(max_open_for) if less(max_open_for, open_for) => {
            Err(BreakerPolicyError::MaxOpenForBelowOpenFor {
                max_open_for,
                open_for,
            })
        }
        Some(max_open_for) if less(MAX_OPEN_FOR, max_open_for) => {
            Err(BreakerPolicyError::MaxOpenForTooLong)
        }
        _ => Ok(()),
    }
}

pub(crate) const fn check_probes(probes: u32) -> Result<(), BreakerPolicyError> {
    match probes {
        0 => Err(BreakerPolicyError::ProbesZero),
        1..=MAX_PROBES => Ok(()),
        _ => Err(BreakerPolicyError::ProbesTooMany { probes }),
    }
}

#[cfg(test)]
mod tests;
