//! The validated settings of a partition, and every rule about their values.
//!
//! Each rule stands here once, as a `const fn`. The attribute macros call it while compiling, under
//! the span of the argument; [`Policy::checked`] and [`register`](crate::register) call it at run
//! time; both report the same text.

pub mod check;
mod text;

use std::fmt;
use std::time::Duration;

use text::Text;

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

    /// For the expansion only, which checks each value under its own span and would otherwise
    /// report a mistake twice.
    pub(crate) const fn unchecked(max: u32, queue: u32, wait: Duration) -> Self {
        Self { max, queue, wait }
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

/// What is wrong with a policy or a name.
///
/// Its text says what to write instead. While compiling it stands behind rustc's "evaluation
/// panicked".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// `max = 0`.
    MaxZero,
    /// `max` above [`MAX_PERMITS`].
    MaxTooLarge,
    /// `queue` above [`MAX_QUEUE`].
    QueueTooLarge,
    /// A queue whose callers could wait for ever.
    #[non_exhaustive]
    QueueWithoutWait {
        /// The length of the queue.
        queue: u32,
    },
    /// A wait where nobody can wait.
    WaitWithoutQueue,
    /// `wait` below [`MIN_DURATION`].
    WaitTooShort,
    /// `wait` above [`MAX_DURATION`].
    WaitTooLong,
    /// `timeout` below [`MIN_DURATION`].
    TimeoutTooShort,
    /// `timeout` above [`MAX_DURATION`].
    TimeoutTooLong,
    /// A call may queue for as long as it may run, or longer.
    #[non_exhaustive]
    WaitNotBelowTimeout {
        /// The longest time in the queue.
        wait: Duration,
        /// The longest time of the body.
        timeout: Duration,
    },
    /// A name of no characters.
    NameEmpty,
    /// A name that begins or ends with white space.
    NameWhiteSpace,
    /// A name with `{…}` in it, as if it were a format string.
    #[non_exhaustive]
    NamePlaceholder {
        /// The placeholder without its braces, cut at 16 bytes.
        placeholder: [u8; 16],
    },
    /// A character that a name cannot have, or cannot begin with.
    #[non_exhaustive]
    NameCharacter {
        /// The character.
        found: char,
        /// Its position, in bytes from 0.
        position: usize,
    },
    /// A name above [`MAX_NAME`] bytes.
    #[non_exhaustive]
    NameTooLong {
        /// Its length.
        bytes: usize,
    },
}

impl PolicyError {
    const fn illegal_at(name: &str, position: usize) -> Self {
        match text::placeholder(name, position) {
            Some(placeholder) => Self::NamePlaceholder { placeholder },
            None => Self::NameCharacter {
                found: text::char_at(name, position),
                position,
            },
        }
    }

    #[track_caller]
    pub(crate) const fn panic(self) -> ! {
        let text = self.text();
        panic!("{}", text.as_str())
    }

    const fn text(self) -> Text {
        let text = Text::new();
        match self {
            Self::MaxZero => text.str("`max` must be at least 1: with 0 every call would be rejected"),
            Self::MaxTooLarge => text.str("`max` is too large: the limit is ").number(MAX_PERMITS as u64),
            Self::QueueTooLarge => text.str("`queue` is too large: the limit is ").number(MAX_QUEUE as u64),
            Self::QueueWithoutWait { queue } => text
                .str("`queue = ")
                .number(queue as u64)
                .str("` needs `wait`: without it a queued call could wait for ever; write for example `wait = 25ms`"),
            Self::WaitWithoutQueue => {
                text.str("`wait` has no effect without a queue: set `queue` to 1 or more, or remove `wait`")
            }
            Self::WaitTooShort => text.str(
                "`wait` must be at least 1 ms, the finest that the timer knows; to reject at once use `queue = 0`",
            ),
            Self::WaitTooLong => text.str("`wait` is too long: the limit is 365 days"),
            Self::TimeoutTooShort => text.str("`timeout` must be at least 1 ms, the finest that the timer knows"),
            Self::TimeoutTooLong => text.str("`timeout` is too long: the limit is 365 days"),
            Self::WaitNotBelowTimeout { wait, timeout } => text
                .str("`wait` (")
                .duration(wait)
                .str(") must be shorter than `timeout` (")
                .duration(timeout)
                .str("): a call may not queue for longer than it may run"),
            Self::NameEmpty => text.str("`name` cannot be empty"),
            Self::NameWhiteSpace => text.str("`name` cannot begin or end with white space"),
            Self::NamePlaceholder { placeholder } => text
                .str("`name` is fixed at compile time, `{")
                .bytes(&placeholder)
                .str("}` is not filled in"),
            Self::NameCharacter { found, position } => text
                .str("`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `")
                .escaped(found)
                .str("` at position ")
                .number(position as u64),
            Self::NameTooLong { bytes } => text
                .str("`name` is too long: ")
                .number(bytes as u64)
                .str(" bytes, the limit is ")
                .number(MAX_NAME as u64),
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl std::error::Error for PolicyError {}
