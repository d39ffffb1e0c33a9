//! The validated settings of a partition, and every rule about their values.
//!
//! Each rule stands here once, as a `const fn`. The attribute macros call it while compiling, under
//! the span of the argument; [`Policy::checked`] and [`register`](crate::register) call it at run
//! time; both report the same text.

pub mod check;
mod error;
mod forecast;
mod measured;
pub(crate) mod number;
mod rules;
mod share;
pub(crate) mod text;

use std::fmt;
use std::time::Duration;

use crate::breaker::BreakerPolicy;
use crate::retry::RetryBudget;
pub use error::PolicyError;
pub(crate) use measured::{DEFAULT_SHED, Rate};
pub use measured::{Measured, SmallestMax};
pub(crate) use rules::check_name;
use rules::{check_per_key, check_reserve, check_status, check_wait};
pub(crate) use share::Share;

/// The most permits that a partition can have: 2^20.
pub const MAX_PERMITS: u32 = 1 << 20;

/// The most calls that a partition can let wait: 2^20.
pub const MAX_QUEUE: u32 = 1 << 20;

/// The longest `wait` and `timeout`: 365 days.
pub const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The shortest `wait` and `timeout`: 1 ms, the finest that tokio's timer knows.
pub const MIN_DURATION: Duration = Duration::from_millis(1);

/// The longest name of a partition, in bytes.
pub const MAX_NAME: usize = 64;

/// The status of a rejection, unless the policy says otherwise.
pub(crate) const DEFAULT_STATUS: u16 = 503;

/// What a partition was declared with: its permits, its queue and the longest wait in it, the status of its
/// rejections, what was measured for it, its breaker, and its budget for retries.
///
/// A policy is legal by construction. In a `const` or `static` an illegal one does not compile; at
/// run time [`Policy::new`] panics, and [`Policy::checked`] returns an error instead.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::Policy;
///
/// const REPORTS: Policy = Policy::new(4).with_queue(8, Duration::from_millis(25));
/// assert_eq!((REPORTS.max(), REPORTS.queue()), (4, 8));
/// assert_eq!(REPORTS.wait(), Duration::from_millis(25));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    max: u32,
    queue: u32,
    wait: Duration,
    reserve: u32,
    per_key: Option<u32>,
    status: u16,
    measured: Option<Measured>,
    breaker: Option<BreakerPolicy>,
    retry_budget: Option<RetryBudget>,
}

/// The settings of a policy before anybody has checked them. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros builds it"
)]
pub struct Settings {
    pub max: u32,
    pub queue: u32,
    pub wait: Duration,
    pub reserve: u32,
    pub per_key: Option<u32>,
    pub status: u16,
    pub measured: Option<Measured>,
    pub breaker: Option<BreakerPolicy>,
    pub retry_budget: Option<RetryBudget>,
}

impl Settings {
    /// What is left out.
    pub const ABSENT: Self = Self {
        max: 1,
        queue: 0,
        wait: Duration::ZERO,
        reserve: 0,
        per_key: None,
        status: DEFAULT_STATUS,
        measured: None,
        breaker: None,
        retry_budget: None,
    };
}

impl Policy {
    /// A partition of `max` permits, 1 to [`MAX_PERMITS`], that rejects at once when all are taken.
    ///
    /// # Panics
    /// When `max` is 0 or above the limit; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn new(max: u32) -> Self {
        match Self::checked(max) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// Lets at most `queue` calls wait, each for at most `wait`.
    ///
    /// `queue` is 0 to [`MAX_QUEUE`], `wait` is [`MIN_DURATION`] to [`MAX_DURATION`]. A queue of 0
    /// takes a wait of zero and means what leaving it out means: a full partition rejects at once.
    ///
    /// # Panics
    /// When a value is out of range; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_queue(self, queue: u32, wait: Duration) -> Self {
        match self.checked_queue(queue, wait) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::new`] for a number that arrives at run time.
    ///
    /// # Errors
    /// When `max` is 0 or above [`MAX_PERMITS`].
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use bulkhead_runtime::Policy;
    ///
    /// let policy = Policy::checked(4)?.checked_queue(8, Duration::from_millis(25))?;
    /// assert_eq!(policy.queue(), 8);
    ///
    /// let error = Policy::checked(0).unwrap_err();
    /// assert_eq!(error.to_string(), "`max` must be at least 1: with 0 every call would be rejected");
    /// # Ok::<(), bulkhead_runtime::PolicyError>(())
    /// ```
    pub const fn checked(max: u32) -> Result<Self, PolicyError> {
        Self::unchecked(Settings {
            max,
            ..Settings::ABSENT
        })
        .validated()
    }

    /// [`Policy::with_queue`] for numbers that arrive at run time.
    ///
    /// # Errors
    /// When `queue` is above [`MAX_QUEUE`], when a wait is given without a queue, and when `wait` is
    /// out of range.
    pub const fn checked_queue(self, queue: u32, wait: Duration) -> Result<Self, PolicyError> {
        if queue == 0 && !wait.is_zero() {
            return Err(PolicyError::WaitWithoutQueue);
        }
        Self {
            queue,
            wait,
            ..self
        }
        .validated()
    }

    /// Keeps `reserve` of the permits, fewer than `max`, for calls that are critical.
    ///
    /// It is checked and kept. There is no way yet to call a call critical, so nobody is admitted by it.
    ///
    /// # Panics
    /// When it is not below `max`; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_reserve(self, reserve: u32) -> Self {
        match self.checked_reserve(reserve) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::with_reserve`] for a number that arrives at run time.
    ///
    /// # Errors
    /// When it is not below `max`.
    pub const fn checked_reserve(self, reserve: u32) -> Result<Self, PolicyError> {
        Self { reserve, ..self }.validated()
    }

    /// Lets one key, such as a tenant, hold or wait for at most `per_key` permits: 1 to `max`.
    ///
    /// It is checked and kept. There is no way yet to give a call its key, so nobody is rejected by it.
    ///
    /// # Panics
    /// When it is out of range; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_per_key(self, per_key: u32) -> Self {
        match self.checked_per_key(per_key) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::with_per_key`] for a number that arrives at run time.
    ///
    /// # Errors
    /// When it is 0 or above `max`.
    pub const fn checked_per_key(self, per_key: u32) -> Result<Self, PolicyError> {
        Self {
            per_key: Some(per_key),
            ..self
        }
        .validated()
    }

    /// Holds the policy against the traffic that was measured: what it would reject of it, and whether
    /// a full queue drains within `wait`.
    ///
    /// Say it last, when `max` and the queue are set.
    ///
    /// # Panics
    /// When more would be rejected than [`Measured`] allows, and when a part of the queue would be dead; in
    /// a `const` that is a compile error.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use bulkhead_runtime::{Measured, Policy};
    ///
    /// // 40 calls a second at peak, of 50 ms each.
    /// const PEAK: Measured = Measured::new(40, Duration::from_millis(50));
    /// const REPORTS: Policy = Policy::new(7).with_measured(PEAK);
    ///
    /// let error = Policy::new(2).checked_measured(PEAK).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "`max = 2` at 40 calls a second of 50 ms rejects about 40.0 %, and `shed` allows 1.0 %; \
    ///      max = 6 rejects 1.2 %, max = 7 rejects 0.3 %"
    /// );
    /// # assert_eq!(REPORTS.measured(), Some(PEAK));
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn with_measured(self, measured: Measured) -> Self {
        match self.checked_measured(measured) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::with_measured`] for numbers that arrive at run time.
    ///
    /// # Errors
    /// When more would be rejected than [`Measured`] allows, and when a part of the queue would be dead.
    pub const fn checked_measured(self, measured: Measured) -> Result<Self, PolicyError> {
        Self {
            measured: Some(measured),
            ..self
        }
        .validated()
    }

    /// Rejects with the HTTP status 503, which is the default, or 429.
    ///
    /// For services behind a mesh that ejects hosts by their 5xx: to it, a partition that is full is a
    /// host that is broken. It changes what callers see, and nothing about who is admitted.
    ///
    /// # Panics
    /// When it is another status; in a `const` that is a compile error.
    ///
    /// # Examples
    /// ```
    /// use bulkhead_runtime::Policy;
    ///
    /// const BEHIND_A_MESH: Policy = Policy::new(4).with_status(429);
    /// assert_eq!(BEHIND_A_MESH.status(), 429);
    /// assert_eq!(Policy::new(4).status(), 503);
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn with_status(self, status: u16) -> Self {
        match self.checked_status(status) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::with_status`] for a number that arrives at run time.
    ///
    /// # Errors
    /// When it is neither 503 nor 429.
    pub const fn checked_status(self, status: u16) -> Result<Self, PolicyError> {
        Self { status, ..self }.validated()
    }

    /// Stops calling for a while when calls go wrong: when too large a share of them fails or is slow, or too many
    /// in a row fail.
    ///
    /// One breaker for the whole partition. What it counts, and what not, is said at
    /// [`Breaker`](crate::Breaker).
    ///
    /// # Panics
    /// When one of its values is out of range; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_breaker(self, breaker: BreakerPolicy) -> Self {
        match self.checked_breaker(breaker) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::with_breaker`] for numbers that arrive at run time.
    ///
    /// # Errors
    /// When one of its values is out of range.
    pub const fn checked_breaker(self, breaker: BreakerPolicy) -> Result<Self, PolicyError> {
        Self {
            breaker: Some(breaker),
            ..self
        }
        .validated()
    }

    /// Bounds the retries of all its functions together.
    ///
    /// A partition whose functions retry, and that is given no budget, has that of [`RetryBudget::new`].
    ///
    /// # Panics
    /// When one of its values is out of range; in a `const` that is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn with_retry_budget(self, budget: RetryBudget) -> Self {
        match self.checked_retry_budget(budget) {
            Ok(policy) => policy,
            Err(error) => error.panic(),
        }
    }

    /// [`Policy::with_retry_budget`] for numbers that arrive at run time.
    ///
    /// # Errors
    /// When one of its values is out of range.
    pub const fn checked_retry_budget(self, budget: RetryBudget) -> Result<Self, PolicyError> {
        Self {
            retry_budget: Some(budget),
            ..self
        }
        .validated()
    }

    /// The same policy with another `max`, if all the rest still fits.
    pub(crate) const fn resized(self, max: u32) -> Result<Self, PolicyError> {
        // What was measured is advice for those who declare, and no reason to refuse an operator.
        Self {
            max,
            measured: None,
            ..self
        }
        .validated()
    }

    /// Every rule, in the order of the fields.
    const fn validated(self) -> Result<Self, PolicyError> {
        if self.max == 0 {
            return Err(PolicyError::MaxZero);
        }
        if self.max > MAX_PERMITS {
            return Err(PolicyError::MaxTooLarge);
        }
        if self.queue > MAX_QUEUE {
            return Err(PolicyError::QueueTooLarge);
        }
        if let Err(error) = check_wait(self.queue, self.wait) {
            return Err(error);
        }
        if let Err(error) = check_reserve(self.max, self.reserve) {
            return Err(error);
        }
        if let Some(per_key) = self.per_key
            && let Err(error) = check_per_key(self.max, per_key)
        {
            return Err(error);
        }
        if let Err(error) = check_status(self.status) {
            return Err(error);
        }
        if let Some(breaker) = self.breaker
            && let Err(error) = breaker.checked()
        {
            return Err(PolicyError::Breaker(error));
        }
        if let Some(budget) = self.retry_budget
            && let Err(error) = budget.checked()
        {
            return Err(PolicyError::Retry(error));
        }
        match self.measured {
            Some(measured) => match measured.check(self.max, self.queue, self.wait) {
                Ok(()) => Ok(self),
                Err(error) => Err(error),
            },
            None => Ok(self),
        }
    }

    /// Calls in flight at once.
    #[must_use]
    pub const fn max(&self) -> u32 {
        self.max
    }

    /// Calls that may wait at once; 0 means that a full partition rejects at once.
    #[must_use]
    pub const fn queue(&self) -> u32 {
        self.queue
    }

    /// The longest time in the queue; zero when there is none.
    #[must_use]
    pub const fn wait(&self) -> Duration {
        self.wait
    }

    /// The HTTP status of a rejection: 503 or 429.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Permits that only critical calls are to have; 0 when there is no reserve.
    #[must_use]
    pub const fn reserve(&self) -> u32 {
        self.reserve
    }

    /// Permits that one key may hold or wait for, if that is bounded.
    #[must_use]
    pub const fn per_key(&self) -> Option<u32> {
        self.per_key
    }

    /// The traffic that it was declared for, if that was measured.
    #[must_use]
    pub const fn measured(&self) -> Option<Measured> {
        self.measured
    }

    /// Its breaker, if it has one.
    #[must_use]
    pub const fn breaker(&self) -> Option<BreakerPolicy> {
        self.breaker
    }

    /// Its budget for retries, if it was given one.
    #[must_use]
    pub const fn retry_budget(&self) -> Option<RetryBudget> {
        self.retry_budget
    }

    /// For the expansion only, which checks each value under its own span and would otherwise
    /// report a mistake twice.
    pub(crate) const fn unchecked(settings: Settings) -> Self {
        let Settings {
            max,
            queue,
            wait,
            reserve,
            per_key,
            status,
            measured,
            breaker,
            retry_budget,
        } = settings;
        Self {
            max,
            queue,
            wait,
            reserve,
            per_key,
            status,
            measured,
            breaker,
            retry_budget,
        }
    }
}

/// As it is written in an attribute: `max = 4, queue = 8, wait = 25ms`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "max = {}, queue = {}", self.max, self.queue)?;
        if self.queue > 0 {
            write!(f, ", wait = {:?}", self.wait)?;
        }
        if self.reserve > 0 {
            write!(f, ", reserve = {}", self.reserve)?;
        }
        if let Some(per_key) = self.per_key {
            write!(f, ", per_key = {per_key}")?;
        }
        if self.status != DEFAULT_STATUS {
            write!(f, ", status = {}", self.status)?;
        }
        if let Some(measured) = self.measured {
            write!(f, ", {measured}")?;
        }
        if let Some(breaker) = self.breaker {
            write!(f, ", {breaker}")?;
        }
        if let Some(retry_budget) = self.retry_budget {
            write!(f, ", {retry_budget}")?;
        }
        Ok(())
    }
}
