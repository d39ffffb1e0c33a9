//! The rules, in the form in which the expansion of the attributes calls them.
//!
//! Each is `#[track_caller]`, so that rustc points at the user's argument and adds no note about
//! this file.

use std::time::Duration;

use super::{MAX_QUEUE, Policy, PolicyError, check_name, check_timeout, check_wait, less};

/// `name`, under its value.
#[track_caller]
pub const fn name(name: &str) {
    demand(check_name(name));
}

/// `max`, under its value.
#[track_caller]
pub const fn max(max: u32) {
    if let Err(error) = Policy::checked(max) {
        error.panic()
    }
}

/// `queue`, under its value.
#[track_caller]
pub const fn queue(queue: u32, wait_given: bool) {
    if queue > MAX_QUEUE {
        PolicyError::QueueTooLarge.panic()
    }
    if queue > 0 && !wait_given {
        PolicyError::QueueWithoutWait { queue }.panic()
    }
}

/// `wait`, under its key: it needs a queue.
#[track_caller]
pub const fn wait_has_queue(queue: u32) {
    if queue == 0 {
        PolicyError::WaitWithoutQueue.panic()
    }
}

/// `wait`, under its value. Silent without a queue: that mistake is [`wait_has_queue`]'s.
#[track_caller]
pub const fn wait(queue: u32, wait: Duration) {
    demand(check_wait(queue, wait));
}

/// `timeout`, under its value.
#[track_caller]
pub const fn timeout(timeout: Duration) {
    demand(check_timeout(timeout));
}

/// `status`, under its value.
#[track_caller]
pub const fn status(status: u16) {
    if let Err(error) = Policy::new(1).checked_status(status) {
        error.panic()
    }
}

/// The `longest` of a layer that holds its permit until the body has ended.
#[cfg(feature = "tower")]
#[track_caller]
pub(crate) const fn longest(longest: Duration) {
    match check_timeout(longest) {
        Ok(()) => {}
        Err(PolicyError::TimeoutTooLong) => PolicyError::LongestTooLong.panic(),
        Err(_) => PolicyError::LongestTooShort.panic(),
    }
}

/// `wait` against `timeout`. Silent where one of them is out of range by itself.
#[track_caller]
pub const fn wait_below_timeout(wait: Duration, timeout: Duration) {
    if check_timeout(timeout).is_ok() && check_wait(1, wait).is_ok() && !less(wait, timeout) {
        PolicyError::WaitNotBelowTimeout { wait, timeout }.panic()
    }
}

/// The same for a partition that was declared elsewhere.
#[track_caller]
pub const fn policy_below_timeout(policy: Policy, timeout: Duration) {
    if policy.queue() > 0 {
        wait_below_timeout(policy.wait(), timeout);
    }
}

#[track_caller]
const fn demand(result: Result<(), PolicyError>) {
    if let Err(error) = result {
        error.panic()
    }
}
