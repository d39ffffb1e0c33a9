//! What is wrong with a policy or a name, and what to write instead.

use std::fmt;
use std::time::Duration;

use super::text::{self, Text};
use super::{MAX_NAME, MAX_PERMITS, MAX_QUEUE};

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
    /// `wait` below [`MIN_DURATION`](super::MIN_DURATION).
    WaitTooShort,
    /// `wait` above [`MAX_DURATION`](super::MAX_DURATION).
    WaitTooLong,
    /// `timeout` below [`MIN_DURATION`](super::MIN_DURATION).
    TimeoutTooShort,
    /// `timeout` above [`MAX_DURATION`](super::MAX_DURATION).
    TimeoutTooLong,
    /// The longest time of a response's body, below [`MIN_DURATION`](super::MIN_DURATION).
    LongestTooShort,
    /// The longest time of a response's body, above [`MAX_DURATION`](super::MAX_DURATION).
    LongestTooLong,
    /// A call may queue for as long as it may run, or longer.
    #[non_exhaustive]
    WaitNotBelowTimeout {
        /// The longest time in the queue.
        wait: Duration,
        /// The longest time of the body.
        timeout: Duration,
    },
    /// A `status` that does not say "come back later".
    #[non_exhaustive]
    StatusNotOurs {
        /// The status.
        status: u16,
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
    pub(super) const fn illegal_at(name: &str, position: usize) -> Self {
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
            Self::LongestTooShort => text.str(
                "`until_body` takes at least 1 ms, the finest that the timer knows: the longest time that a response's body may keep its permit",
            ),
            Self::LongestTooLong => text.str("`until_body` is too long: the limit is 365 days"),
            Self::WaitNotBelowTimeout { wait, timeout } => text
                .str("`wait` (")
                .duration(wait)
                .str(") must be shorter than `timeout` (")
                .duration(timeout)
                .str("): a call may not queue for longer than it may run"),
            Self::StatusNotOurs { status } => text
                .str("`status` must be 503 or 429, found ")
                .number(status as u64)
                .str(": no other status tells a client to come back later"),
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
