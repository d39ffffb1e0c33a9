//! Traffic as it was measured, and what a policy would do to it.

use std::fmt;
use std::time::Duration;

use super::forecast::{dead_places, rejected_share, smallest_max};
use super::number::{PPM, less, ppm};
use super::{MAX_DURATION, PolicyError};

/// The share that may be rejected, unless it is said: 1 %.
pub(crate) const DEFAULT_SHED: u32 = PPM / 100;

/// The traffic that was measured in this process at its peak, and how much of it may be rejected.
///
/// Given to [`Policy::with_measured`](super::Policy::with_measured), or as
/// `measured(rate = 40, mean = 50ms, shed = 1%)` in an attribute.
///
/// What a policy would reject is computed, not measured: by Erlang's formula B without a queue, and
/// with one by the queue of exponential times in which nobody waits for longer than `wait`
/// (M/M/c/K, and what Movaghar and Brandt say of impatient calls). It holds for calls that come
/// independently of one another; those that come in bursts are rejected more often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    rate: Rate,
    mean: Duration,
    shed: u32,
}

/// Calls in a thousand seconds, so that a rare call has a whole number too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(u64);

impl Rate {
    pub(crate) const fn a_second(calls: u32) -> Self {
        Self(calls as u64 * 1_000)
    }

    pub(crate) const fn in_a_thousand_seconds(calls: u64) -> Self {
        Self(calls)
    }
}

impl Measured {
    /// `rate` calls a second that take `mean` each, of which one in a hundred may be rejected.
    ///
    /// # Panics
    /// When `rate` or `mean` is 0, and when `mean` is above [`MAX_DURATION`]; in a `const` that is a compile
    /// error.
    #[must_use]
    #[track_caller]
    pub const fn new(rate: u32, mean: Duration) -> Self {
        match Self::checked(rate, mean) {
            Ok(measured) => measured,
            Err(error) => error.panic(),
        }
    }

    /// [`Measured::new`] for numbers that arrive at run time.
    ///
    /// # Errors
    /// When `rate` or `mean` is 0, and when `mean` is above [`MAX_DURATION`].
    pub const fn checked(rate: u32, mean: Duration) -> Result<Self, PolicyError> {
        Self::unchecked(Rate::a_second(rate), mean, DEFAULT_SHED).validated()
    }

    /// Another share that may be rejected, in percent: above 0, and below 100. It is kept to four
    /// decimals.
    ///
    /// # Panics
    /// When it is out of range; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_shed(self, percent: f64) -> Self {
        match self.checked_shed(percent) {
            Ok(measured) => measured,
            Err(error) => error.panic(),
        }
    }

    /// [`Measured::with_shed`] for a number that arrives at run time.
    ///
    /// # Errors
    /// When it is out of range.
    pub const fn checked_shed(self, percent: f64) -> Result<Self, PolicyError> {
        let shed = ppm(percent);
        Self { shed, ..self }.validated()
    }

    pub(crate) const fn unchecked(rate: Rate, mean: Duration, shed: u32) -> Self {
        Self { rate, mean, shed }
    }

    /// Calls a second.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "nobody measures to 53 bits")]
        let calls = self.rate.0 as f64;
        calls / 1e3
    }

    /// The mean time of a call.
    #[must_use]
    pub const fn mean(&self) -> Duration {
        self.mean
    }

    /// The share that may be rejected, in percent.
    #[must_use]
    pub const fn shed(&self) -> f64 {
        self.shed as f64 / (PPM / 100) as f64
    }

    const fn validated(self) -> Result<Self, PolicyError> {
        match self.check_values() {
            Ok(()) => Ok(self),
            Err(error) => Err(error),
        }
    }

    pub(super) const fn check_values(self) -> Result<(), PolicyError> {
        if let Err(error) = check_rate(self.rate) {
            return Err(error);
        }
        if let Err(error) = check_mean(self.mean) {
            return Err(error);
        }
        check_shed(self.shed)
    }

    /// Holds a policy against the traffic.
    pub(super) const fn check(
        self,
        max: u32,
        queue: u32,
        wait: Duration,
    ) -> Result<(), PolicyError> {
        if let Err(error) = self.check_values() {
            return Err(error);
        }
        if let Err(error) = self.check_shed(max, queue, wait) {
            return Err(error);
        }
        self.check_drains(max, queue, wait)
    }

    /// Whether the last in a full queue is served within `wait`.
    pub(super) const fn check_drains(
        self,
        max: u32,
        queue: u32,
        wait: Duration,
    ) -> Result<(), PolicyError> {
        match dead_places(max, queue, wait, self.mean) {
            0 => Ok(()),
            dead => Err(PolicyError::DeadPlaces {
                queue,
                dead,
                max,
                wait,
                mean: self.mean,
            }),
        }
    }

    /// Whether no more is rejected than may be.
    pub(super) const fn check_shed(
        self,
        max: u32,
        queue: u32,
        wait: Duration,
    ) -> Result<(), PolicyError> {
        let rejected = self.rejects(max, queue, wait);
        if rejected <= self.shed {
            return Ok(());
        }
        let shed = self.shed as f64 / PPM as f64;
        let enough = match smallest_max(queue, wait, self.rate(), self.mean, shed) {
            Some(enough) => Some(SmallestMax {
                max: enough,
                rejects: self.rejects(enough, queue, wait),
                one_less_rejects: self.rejects(enough - 1, queue, wait),
            }),
            None => None,
        };
        Err(PolicyError::Sheds {
            max,
            rejects: rejected,
            measured: self,
            enough,
        })
    }

    /// What a partition of `max` permits would reject, in parts of a million.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share is from 0 to 1"
    )]
    const fn rejects(self, max: u32, queue: u32, wait: Duration) -> u32 {
        if max == 0 {
            return PPM;
        }
        let exact = rejected_share(max, queue, wait, self.rate(), self.mean) * PPM as f64;
        let whole = exact as u32;
        // Rounded up: what is above the share that is allowed stays above it.
        if exact > whole as f64 {
            whole + 1
        } else {
            whole
        }
    }

    pub(super) const fn in_a_thousand_seconds(self) -> u64 {
        self.rate.0
    }

    pub(super) const fn shed_ppm(self) -> u32 {
        self.shed
    }
}

/// A `max` that would do, and what it rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SmallestMax {
    /// The smallest number of permits that would do.
    pub max: u32,
    /// What it rejects, in parts of a million.
    pub rejects: u32,
    /// What one permit fewer rejects.
    pub one_less_rejects: u32,
}

pub(super) const fn check_rate(rate: Rate) -> Result<(), PolicyError> {
    match rate.0 {
        0 => Err(PolicyError::RateZero),
        _ => Ok(()),
    }
}

pub(super) const fn check_mean(mean: Duration) -> Result<(), PolicyError> {
    if mean.is_zero() {
        Err(PolicyError::MeanZero)
    } else if less(MAX_DURATION, mean) {
        Err(PolicyError::MeanTooLong)
    } else {
        Ok(())
    }
}

pub(super) const fn check_shed(shed: u32) -> Result<(), PolicyError> {
    match shed {
        0 => Err(PolicyError::ShedZero),
        1..PPM => Ok(()),
        _ => Err(PolicyError::ShedTooLarge),
    }
}

/// As it is written in an attribute.
impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, mean, shed) = (self.rate(), self.mean, self.shed());
        write!(
            f,
            "measured(rate = {rate}, mean = {mean:?}, shed = {shed}%)"
        )
    }
}
