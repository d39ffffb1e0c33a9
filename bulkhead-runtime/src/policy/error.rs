//! What is wrong with a policy, a dependency, measured traffic or a name, and what to write instead.

use std::fmt;
use std::time::Duration;

use super::measured::{Measured, SmallestMax};
use super::rules::left;
use super::text::{self, Text};
use super::{MAX_NAME, MAX_PERMITS, MAX_QUEUE};
use crate::breaker::BreakerPolicyError;
use crate::retry::RetryPolicyError;

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
    /// The longest time of a request, below [`MIN_DURATION`](super::MIN_DURATION).
    CapTooShort,
    /// The longest time of a request, above [`MAX_DURATION`](super::MAX_DURATION).
    CapTooLong,
    /// A call may queue for as long as it may run, or longer.
    #[non_exhaustive]
    WaitNotBelowTimeout {
        /// The longest time in the queue.
        wait: Duration,
        /// The longest time of the body.
        timeout: Duration,
    },
    /// `deadline` below [`MIN_DURATION`](super::MIN_DURATION).
    DeadlineTooShort,
    /// `deadline` above [`MAX_DURATION`](super::MAX_DURATION).
    DeadlineTooLong,
    /// `margin` below [`MIN_DURATION`](super::MIN_DURATION).
    MarginTooShort,
    /// `margin` above [`MAX_DURATION`](super::MAX_DURATION).
    MarginTooLong,
    /// The margin takes all of the deadline.
    #[non_exhaustive]
    MarginNotBelowDeadline {
        /// What reply and clean-up need.
        margin: Duration,
        /// The longest time of everything.
        deadline: Duration,
    },
    /// A call may wait and run for longer than its deadline allows.
    #[non_exhaustive]
    OverDeadline {
        /// The longest time in the queue; zero without one.
        wait: Duration,
        /// The longest time of the body, if that is bounded by itself.
        timeout: Option<Duration>,
        /// How often it may run; 1 without retries.
        attempts: u32,
        /// The longest time between the attempts together; zero without retries.
        backoffs: Duration,
        /// The longest time of everything.
        deadline: Duration,
        /// What of it reply and clean-up need.
        margin: Option<Duration>,
    },
    /// No call can run for so long that it is slow.
    #[non_exhaustive]
    SlowNotBelowDeadline {
        /// From when on a call is slow.
        slow: Duration,
        /// The longest time of everything.
        deadline: Duration,
        /// What of it reply and clean-up need.
        margin: Option<Duration>,
    },
    /// No call can be done in the time that it has.
    #[non_exhaustive]
    MeanNotBelowDeadline {
        /// The mean time of a call, as it was measured.
        mean: Duration,
        /// The longest time of everything.
        deadline: Duration,
        /// What of it reply and clean-up need.
        margin: Option<Duration>,
    },
    /// A breaker of a function whose calls may run for ever.
    BreakerWithoutBound,
    /// The same, with the breaker of its partition.
    #[non_exhaustive]
    BreakerOfPartitionWithoutBound {
        /// The name of the partition.
        partition: &'static str,
    },
    /// A body that settles, under a breaker, and without a `timeout`.
    SettleWithoutTimeout,
    /// The same, with the breaker of its partition.
    #[non_exhaustive]
    SettleOfPartitionWithoutTimeout {
        /// The name of the partition.
        partition: &'static str,
    },
    /// `reserve` leaves nothing for other calls.
    #[non_exhaustive]
    ReserveNotBelowMax {
        /// The reserve.
        reserve: u32,
        /// All permits.
        max: u32,
    },
    /// `per_key = 0`.
    PerKeyZero,
    /// One key may have more than there is.
    #[non_exhaustive]
    PerKeyAboveMax {
        /// Permits of one key.
        per_key: u32,
        /// All permits.
        max: u32,
    },
    /// `rate = 0`.
    RateZero,
    /// `mean` of no time.
    MeanZero,
    /// `mean` above [`MAX_DURATION`](super::MAX_DURATION).
    MeanTooLong,
    /// `shed = 0%`.
    ShedZero,
    /// `shed` of 100 % or more.
    ShedTooLarge,
    /// More of the measured traffic would be rejected than may be.
    #[non_exhaustive]
    Sheds {
        /// All permits.
        max: u32,
        /// What they would reject, in parts of a million.
        rejects: u32,
        /// The traffic.
        measured: Measured,
        /// What would do, if anything.
        enough: Option<SmallestMax>,
    },
    /// Callers in a full queue that can never be served in time.
    #[non_exhaustive]
    DeadPlaces {
        /// The length of the queue.
        queue: u32,
        /// How many of its places are dead.
        dead: u32,
        /// All permits.
        max: u32,
        /// The longest time in the queue.
        wait: Duration,
        /// The mean time of a call.
        mean: Duration,
    },
    /// `capacity = 0`.
    CapacityZero,
    /// Nothing is left of the capacity.
    #[non_exhaustive]
    SpareNotBelowCapacity {
        /// What is kept free.
        spare: u32,
        /// What the dependency can take.
        capacity: u32,
    },
    /// `replicas = 0`.
    ReplicasZero,
    /// Two partitions of a dependency have one name.
    #[non_exhaustive]
    NameTwice {
        /// The name.
        name: &'static str,
    },
    /// The partitions of a dependency take more than it can.
    #[non_exhaustive]
    OverCapacity {
        /// The name of the dependency.
        dependency: &'static str,
        /// What its partitions take in one replica.
        sum: u64,
        /// What they take in all.
        taken: u64,
        /// What the dependency can take.
        capacity: u32,
        /// What of it is kept free.
        spare: u32,
        /// Processes that can run at once.
        replicas: u32,
    },
    /// A `status` that does not say "come back later".
    #[non_exhaustive]
    StatusNotOurs {
        /// The status.
        status: u16,
    },
    /// A breaker with a value that is out of range.
    Breaker(BreakerPolicyError),
    /// Retries, or a budget for them, with a value that is out of range.
    Retry(RetryPolicyError),
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

    #[expect(clippy::too_many_lines, reason = "one text for each kind")]
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
            Self::CapTooShort => text.str(
                "`capped` takes at least 1 ms, the finest that the timer knows: the longest time that a request may have",
            ),
            Self::CapTooLong => text.str("`capped` is too long: the limit is 365 days"),
            Self::WaitNotBelowTimeout { wait, timeout } => text
                .str("`wait` (")
                .duration(wait)
                .str(") must be shorter than `timeout` (")
                .duration(timeout)
                .str("): a call may not queue for longer than it may run"),
            Self::DeadlineTooShort => text.str("`deadline` must be at least 1 ms, the finest that the timer knows"),
            Self::DeadlineTooLong => text.str("`deadline` is too long: the limit is 365 days"),
            Self::MarginTooShort => text.str(
                "`margin` must be at least 1 ms, the finest that the timer knows; where nothing has to be kept back, remove it",
            ),
            Self::MarginTooLong => text.str("`margin` is too long: the limit is 365 days"),
            Self::MarginNotBelowDeadline { margin, deadline } => text
                .str("`margin` (")
                .duration(margin)
                .str(") must be shorter than `deadline` (")
                .duration(deadline)
                .str("): it would leave a call no time at all"),
            Self::OverDeadline {
                wait,
                timeout: Some(timeout),
                attempts,
                backoffs,
                deadline,
                margin,
            } => {
                let longest = wait
                    .saturating_add(timeout.saturating_mul(attempts))
                    .saturating_add(backoffs);
                let text = text.str("a call can take up to ").duration(longest);
                let text = match (wait.is_zero(), attempts) {
                    (true, 1) => text.str(" (`timeout`)"),
                    (true, _) => text.str(" ("),
                    (false, _) => text.str(" (`wait` ").duration(wait).str(" + "),
                };
                let text = match (wait.is_zero(), attempts) {
                    (true, 1) => text,
                    (false, 1) => text.str("`timeout` ").duration(timeout).str(")"),
                    _ => text
                        .number(attempts as u64)
                        .str(" × `timeout` ")
                        .duration(timeout)
                        .str(" + backoffs of ")
                        .duration(backoffs)
                        .str(")"),
                };
                let enough = match margin {
                    Some(margin) => longest.saturating_add(margin),
                    None => longest,
                };
                text.str(", and ")
                    .left(deadline, margin)
                    .str("; write `deadline = ")
                    .duration(enough)
                    .str(match attempts {
                        1 => "` or more, or ",
                        2 => "` or more, or no `retry`, or ",
                        _ => "` or more, or fewer `attempts`, or ",
                    })
                    .str(match (wait.is_zero(), attempts) {
                        (true, 1) => "a shorter `timeout`",
                        (false, 1) => "a shorter `wait` or `timeout`",
                        (true, _) => "a shorter `timeout` or `backoff`",
                        (false, _) => "a shorter `wait`, `timeout` or `backoff`",
                    })
            }
            Self::OverDeadline {
                wait,
                timeout: None,
                attempts: 1,
                deadline,
                margin,
                ..
            } => text
                .str("a call can wait for ")
                .duration(wait)
                .str(" (`wait`), and ")
                .left(deadline, margin)
                .str(": one that waited to the end could not run; write a longer `deadline`, or a shorter `wait`"),
            Self::OverDeadline {
                wait,
                timeout: None,
                backoffs,
                deadline,
                margin,
                ..
            } => {
                let text = text
                    .str("a call can wait for ")
                    .duration(wait.saturating_add(backoffs));
                let text = if wait.is_zero() {
                    text.str(" (backoffs)")
                } else {
                    text.str(" (`wait` ")
                        .duration(wait)
                        .str(" + backoffs of ")
                        .duration(backoffs)
                        .str(")")
                };
                text.str(", and ")
                    .left(deadline, margin)
                    .str(": its last attempt could not run; write a longer `deadline`, or fewer `attempts`, or ")
                    .str(if wait.is_zero() {
                        "a shorter `backoff`"
                    } else {
                        "a shorter `wait` or `backoff`"
                    })
            }
            Self::SlowNotBelowDeadline {
                slow,
                deadline,
                margin,
            } => text
                .str("`slow` (")
                .duration(slow)
                .str(") must be shorter than what a call has: ")
                .left(deadline, margin)
                .str(", and none would be slow; shorten `slow`, or remove it"),
            Self::MeanNotBelowDeadline {
                mean,
                deadline,
                margin,
            } => text
                .str("a call takes ")
                .duration(mean)
                .str(" (`measured`), and ")
                .left(deadline, margin)
                .str(": every call would be rejected; write a longer `deadline`"),
            Self::BreakerWithoutBound => text.str(
                "`breaker` needs a `timeout` or a `deadline` beside it: a call that hangs would never end, and the breaker would never see it; write for example `timeout = 2s`",
            ),
            Self::BreakerOfPartitionWithoutBound { partition } => text
                .str("`")
                .str(partition)
                .str("` has a breaker, and this function neither a `timeout` nor a `deadline`: a call that hangs would never end, and the breaker would never see it; write for example `timeout = 2s` behind the path"),
            Self::SettleWithoutTimeout => text.str(
                "`settle` beside a `breaker` needs a `timeout`: no deadline stops a body that settles, so one that hangs would never end, and the breaker would never see it; write for example `timeout = 2s`",
            ),
            Self::SettleOfPartitionWithoutTimeout { partition } => text
                .str("`")
                .str(partition)
                .str("` has a breaker, and `settle` needs a `timeout` under one: no deadline stops a body that settles, so one that hangs would never end, and the breaker would never see it; write for example `timeout = 2s`"),
            Self::ReserveNotBelowMax { reserve, max } => text
                .str("`reserve = ")
                .number(reserve as u64)
                .str("` leaves nothing of `max = ")
                .number(max as u64)
                .str("` for calls that are not critical: it must be smaller"),
            Self::PerKeyZero => {
                text.str("`per_key` must be at least 1: with 0 every call with a key would be rejected")
            }
            Self::PerKeyAboveMax { per_key, max } => text
                .str("`per_key = ")
                .number(per_key as u64)
                .str("` is more than there is: `max = ")
                .number(max as u64)
                .str("`"),
            Self::RateZero => text.str("`rate` must be above 0: the calls a second that were measured at peak"),
            Self::MeanZero => text.str("`mean` must be above 0: the mean time of a call, as it was measured"),
            Self::MeanTooLong => text.str("`mean` is too long: the limit is 365 days"),
            Self::ShedZero => text.str(
                "`shed` must be above 0 %: calls do not arrive evenly, and every `max` rejects some of them",
            ),
            Self::ShedTooLarge => text.str("`shed` must be below 100 %: at 100 % every call could be rejected"),
            Self::Sheds {
                max,
                rejects,
                measured,
                enough,
            } => {
                let text = text
                    .str("`max = ")
                    .number(max as u64)
                    .str("` at ")
                    .traffic(measured.in_a_thousand_seconds(), measured.mean())
                    .str(" rejects about ")
                    .percent_beside(rejects, measured.shed_ppm())
                    .str(", and `shed` allows ")
                    .percent(measured.shed_ppm());
                match enough {
                    None => text.str("; no `max` would do"),
                    Some(enough) if enough.max - 1 <= max => {
                        text.str("; ").rejects(enough.max, enough.rejects, measured.shed_ppm())
                    }
                    Some(enough) => text
                        .str("; ")
                        .rejects(enough.max - 1, enough.one_less_rejects, measured.shed_ppm())
                        .str(", ")
                        .rejects(enough.max, enough.rejects, measured.shed_ppm()),
                }
            }
            Self::DeadPlaces {
                queue,
                dead,
                max,
                wait,
                mean,
            } => {
                let served = queue - dead;
                let text = text
                    .str("of `queue = ")
                    .number(queue as u64)
                    .str("` the last ")
                    .number(dead as u64)
                    .str(if dead == 1 { " is" } else { " are" })
                    .str(" dead: on average ")
                    .number(max as u64)
                    .str(if max == 1 { " permit at " } else { " permits at " })
                    .spaced_duration(mean)
                    .str(if max == 1 { " a call serves " } else { " a call serve " })
                    .number(served as u64)
                    .str(" within `wait` (")
                    .duration(wait)
                    .str("); ");
                if served == 0 {
                    text.str("write a longer `wait`, or leave out `queue` and `wait`")
                } else {
                    text.str("write `queue = ").number(served as u64).str("` or a longer `wait`")
                }
            }
            Self::CapacityZero => {
                text.str("`capacity` must be at least 1: the calls that the dependency can take at once")
            }
            Self::SpareNotBelowCapacity { spare, capacity } => text
                .str("`spare = ")
                .number(spare as u64)
                .str("` leaves nothing of `capacity = ")
                .number(capacity as u64)
                .str("`: it must be smaller"),
            Self::ReplicasZero => {
                text.str("`replicas` must be at least 1: the most processes that can run at once, surge included")
            }
            Self::NameTwice { name } => text
                .str("`")
                .str(name)
                .str("` is the name of two partitions here, which makes them one: give each a name of its own"),
            Self::OverCapacity {
                dependency,
                sum,
                taken,
                capacity,
                spare,
                replicas,
            } => text
                .str("`")
                .str(dependency)
                .str("` is over by ")
                .number(taken - capacity.saturating_sub(spare) as u64)
                .str(": its partitions take ")
                .number(sum)
                .str(" in each of ")
                .number(replicas as u64)
                .str(if replicas == 1 { " replica, " } else { " replicas, " })
                .number(taken)
                .str(" in all, and `capacity = ")
                .number(capacity as u64)
                .str("` less `spare = ")
                .number(spare as u64)
                .str("` leaves ")
                .number(capacity.saturating_sub(spare) as u64),
            Self::Breaker(error) => error.text(),
            Self::Retry(error) => error.text(),
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

impl Text {
    /// "its deadline leaves 1.85s (`deadline` 2s less `margin` 150ms)"
    const fn left(self, deadline: Duration, margin: Option<Duration>) -> Self {
        match margin {
            None => self.str("its `deadline` is ").duration(deadline),
            Some(margin) => self
                .str("its deadline leaves ")
                .duration(left(deadline, Some(margin)))
                .str(" (`deadline` ")
                .duration(deadline)
                .str(" less `margin` ")
                .duration(margin)
                .str(")"),
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl std::error::Error for PolicyError {}
