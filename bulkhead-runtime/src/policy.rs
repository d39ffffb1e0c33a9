//! The validated settings of a partition, and every rule about their values.
//!
//! Each rule stands here once, as a `const fn`. The attribute macros call it while compiling, under
//! the span of the argument; [`Policy::checked`] and [`register`](crate::register) call it at run
//! time; both report the same text.

pub mod check;
mod error;
mod text;

use std::time::Duration;

pub use error::PolicyError;

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

/// What a partition was declared with: its permits, its queue, and the longest wait in it.
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
    status: u16,
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
        match max {
            0 => Err(PolicyError::MaxZero),
            1..=MAX_PERMITS => Ok(Self {
                max,
                queue: 0,
                wait: Duration::ZERO,
                status: DEFAULT_STATUS,
            }),
            _ => Err(PolicyError::MaxTooLarge),
        }
    }

    /// [`Policy::with_queue`] for numbers that arrive at run time.
    ///
    /// # Errors
    /// When `queue` is above [`MAX_QUEUE`], when a wait is given without a queue, and when `wait` is
    /// out of range.
    pub const fn checked_queue(self, queue: u32, wait: Duration) -> Result<Self, PolicyError> {
        if queue > MAX_QUEUE {
            return Err(PolicyError::QueueTooLarge);
        }
        if queue == 0 && !wait.is_zero() {
            return Err(PolicyError::WaitWithoutQueue);
        }
        match check_wait(queue, wait) {
            Ok(()) => Ok(Self {
                queue,
                wait,
                ..self
            }),
            Err(error) => Err(error),
        }
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
        match status {
            503 | 429 => Ok(Self { status, ..self }),
            _ => Err(PolicyError::StatusNotOurs { status }),
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

    /// For the expansion only, which checks each value under its own span and would otherwise
    /// report a mistake twice.
    pub(crate) const fn unchecked(max: u32, queue: u32, wait: Duration, status: u16) -> Self {
        Self {
            max,
            queue,
            wait,
            status,
        }
    }
}

const fn check_wait(queue: u32, wait: Duration) -> Result<(), PolicyError> {
    if queue == 0 {
        Ok(())
    } else if less(wait, MIN_DURATION) {
        Err(PolicyError::WaitTooShort)
    } else if less(MAX_DURATION, wait) {
        Err(PolicyError::WaitTooLong)
    } else {
        Ok(())
    }
}

const fn check_timeout(timeout: Duration) -> Result<(), PolicyError> {
    if less(timeout, MIN_DURATION) {
        Err(PolicyError::TimeoutTooShort)
    } else if less(MAX_DURATION, timeout) {
        Err(PolicyError::TimeoutTooLong)
    } else {
        Ok(())
    }
}

/// `a < b`; the trait's operator cannot be called in a `const fn`.
const fn less(a: Duration, b: Duration) -> bool {
    a.as_nanos() < b.as_nanos()
}

/// `[a-z][a-z0-9_.-]*`, at most [`MAX_NAME`] bytes: what every metrics system takes as a label
/// without quoting.
pub(crate) const fn check_name(name: &str) -> Result<(), PolicyError> {
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return Err(PolicyError::NameEmpty);
    }
    if bytes[0].is_ascii_whitespace() || bytes[bytes.len() - 1].is_ascii_whitespace() {
        return Err(PolicyError::NameWhiteSpace);
    }
    let mut at = 0;
    while at < bytes.len() {
        let legal = match bytes[at] {
            b'a'..=b'z' => true,
            b'0'..=b'9' | b'_' | b'-' | b'.' => at > 0,
            _ => false,
        };
        if !legal {
            return Err(PolicyError::illegal_at(name, at));
        }
        at += 1;
    }
    if bytes.len() > MAX_NAME {
        return Err(PolicyError::NameTooLong { bytes: bytes.len() });
    }
    Ok(())
}
