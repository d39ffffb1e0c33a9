//! The rules about one value, or about two that stand side by side.

use std::time::Duration;

use super::number::less;
use super::{MAX_DURATION, MAX_NAME, MIN_DURATION, PolicyError};
use crate::retry::RetryPolicy;

pub(super) const fn check_wait(queue: u32, wait: Duration) -> Result<(), PolicyError> {
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

pub(super) const fn check_timeout(timeout: Duration) -> Result<(), PolicyError> {
    if less(timeout, MIN_DURATION) {
        Err(PolicyError::TimeoutTooShort)
    } else if less(MAX_DURATION, timeout) {
        Err(PolicyError::TimeoutTooLong)
    } else {
        Ok(())
    }
}

pub(super) const fn check_deadline(deadline: Duration) -> Result<(), PolicyError> {
    if less(deadline, MIN_DURATION) {
        Err(PolicyError::DeadlineTooShort)
    } else if less(MAX_DURATION, deadline) {
        Err(PolicyError::DeadlineTooLong)
    } else {
        Ok(())
    }
}

pub(super) const fn check_margin(margin: Duration) -> Result<(), PolicyError> {
    if less(margin, MIN_DURATION) {
        Err(PolicyError::MarginTooShort)
    } else if less(MAX_DURATION, margin) {
        Err(PolicyError::MarginTooLong)
    } else {
        Ok(())
    }
}

pub(super) const fn check_margin_below_deadline(
    margin: Duration,
    deadline: Duration,
) -> Result<(), PolicyError> {
    if less(margin, deadline) {
        Ok(())
    } else {
        Err(PolicyError::MarginNotBelowDeadline { margin, deadline })
    }
}

/// The worst case: a call that waits to the end, and then runs to the end as often as it may, with the longest
/// backoffs in between. Without a `timeout` its last attempt only has to be able to start.
pub(super) const fn check_fits(
    wait: Duration,
    timeout: Option<Duration>,
    retry: Option<RetryPolicy>,
    deadline: Duration,
    margin: Option<Duration>,
) -> Result<(), PolicyError> {
    let left = left(deadline, margin);
    let (attempts, backoffs) = match retry {
        Some(retry) => (retry.attempts(), retry.longest_backoffs()),
        None => (1, Duration::ZERO),
    };
    let waits = wait.saturating_add(backoffs);
    let fits = match timeout {
        Some(timeout) => !less(left, waits.saturating_add(timeout.saturating_mul(attempts))),
        None => less(waits, left),
    };
    if fits {
        Ok(())
    } else {
        Err(PolicyError::OverDeadline {
            wait,
            timeout,
            attempts,
            backoffs,
            deadline,
            margin,
        })
    }
}

/// Of a call without a `timeout`: what its deadline leaves is the longest that it can run.
pub(super) const fn check_slow_below_deadline(
    slow: Duration,
    deadline: Duration,
    margin: Option<Duration>,
) -> Result<(), PolicyError> {
    if less(slow, left(deadline, margin)) {
        Ok(())
    } else {
        Err(PolicyError::SlowNotBelowDeadline {
            slow,
            deadline,
            margin,
        })
    }
}

pub(super) const fn check_mean_below_deadline(
    mean: Duration,
    deadline: Duration,
    margin: Option<Duration>,
) -> Result<(), PolicyError> {
    if less(mean, left(deadline, margin)) {
        Ok(())
    } else {
        Err(PolicyError::MeanNotBelowDeadline {
            mean,
            deadline,
            margin,
        })
    }
}

/// What a deadline leaves to wait and to run.
pub(super) const fn left(deadline: Duration, margin: Option<Duration>) -> Duration {
    match margin {
        Some(margin) => deadline.saturating_sub(margin),
        None => deadline,
    }
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

pub(super) const fn check_reserve(max: u32, reserve: u32) -> Result<(), PolicyError> {
    if reserve < max {
        Ok(())
    } else {
        Err(PolicyError::ReserveNotBelowMax { reserve, max })
    }
}

pub(super) const fn check_per_key(max: u32, per_key: u32) -> Result<(), PolicyError> {
    match per_key {
        0 => Err(PolicyError::PerKeyZero),
        _ if per_key > max => Err(PolicyError::PerKeyAboveMax { per_key, max }),
        _ => Ok(()),
    }
}

pub(super) const fn check_status(status: u16) -> Result<(), PolicyError> {
    match status {
        503 | 429 => Ok(()),
        _ => Err(PolicyError::StatusNotOurs { status }),
    }
}
