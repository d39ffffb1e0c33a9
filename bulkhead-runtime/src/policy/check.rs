//! The rules, in the form in which the expansion of the attributes calls them.
//!
//! Each is `#[track_caller]`, so that rustc points at the user's argument and adds no note about
//! this file.

mod contract;

use std::time::Duration;

use crate::partition::Partition;

use super::measured::{check_mean, check_rate, check_shed};
use super::number::less;
use super::rules::{
    check_name, check_per_key, check_reserve, check_status, check_timeout, check_wait,
};
use super::{MAX_PERMITS, MAX_QUEUE, Measured, Policy, PolicyError, Rate, Share};

pub use contract::{
    attempts, backoff, backoff_cap, breaker_has_bound, budget_window, consecutive, deadline,
    failure_rate, fits, has_no_breaker, margin, margin_below_deadline, max_open_for, min,
    min_calls, open_for, policy_fits, policy_retries_fit, policy_slow_is_reached, probes, ratio,
    retries_fit, settle_has_no_breaker, settle_has_timeout, slow, slow_is_reached, slow_rate,
    window,
};

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
    demand(check_status(status));
}

/// `reserve`, under its value. Silent where `max` is out of range by itself.
#[track_caller]
pub const fn reserve(max: u32, reserve: u32) {
    if is_max(max) {
        demand(check_reserve(max, reserve));
    }
}

/// `per_key`, under its value. Only what it is by itself counts where `max` is out of range.
#[track_caller]
pub const fn per_key(max: u32, per_key: u32) {
    if per_key == 0 || is_max(max) {
        demand(check_per_key(max, per_key));
    }
}

/// `rate` in calls in a thousand seconds, under its value.
#[track_caller]
pub const fn rate(rate: u64) {
    demand(check_rate(Rate::in_a_thousand_seconds(rate)));
}

/// `mean`, under its value.
#[track_caller]
pub const fn mean(mean: Duration) {
    demand(check_mean(mean));
}

/// `shed` in parts of a million, under its value.
#[track_caller]
pub const fn shed(ppm: u32) {
    demand(check_shed(ppm));
}

/// What is rejected of the measured traffic, under the value of `max`. Silent where one of the numbers is
/// out of range by itself.
#[track_caller]
pub const fn sheds(max: u32, queue: u32, wait: Duration, measured: Measured) {
    if is_legal(max, queue, wait, measured) {
        demand(measured.check_shed(max, queue, wait));
    }
}

/// Whether a full queue drains in time, under the value of `queue`. Silent like [`sheds`].
#[track_caller]
pub const fn drains(max: u32, queue: u32, wait: Duration, measured: Measured) {
    // With another `max`, another part of the queue would be served in time.
    if is_legal(max, queue, wait, measured) && measured.check_shed(max, queue, wait).is_ok() {
        demand(measured.check_drains(max, queue, wait));
    }
}

const fn is_max(max: u32) -> bool {
    max > 0 && max <= MAX_PERMITS
}

const fn is_legal(max: u32, queue: u32, wait: Duration, measured: Measured) -> bool {
    is_max(max)
        && queue <= MAX_QUEUE
        && check_wait(queue, wait).is_ok()
        && measured.check_values().is_ok()
}

/// `capacity`, under its value.
#[track_caller]
pub const fn capacity(capacity: u32) {
    if capacity == 0 {
        PolicyError::CapacityZero.panic()
    }
}

/// `spare`, under its value. Silent where `capacity` is wrong by itself.
#[track_caller]
pub const fn spare(capacity: u32, spare: u32) {
    if capacity > 0 && spare >= capacity {
        PolicyError::SpareNotBelowCapacity { spare, capacity }.panic()
    }
}

/// `replicas`, under its value.
#[track_caller]
pub const fn replicas(replicas: u32) {
    if replicas == 0 {
        PolicyError::ReplicasZero.panic()
    }
}

/// The sum of a dependency, under the value of `capacity`. Silent where one of the numbers is wrong by
/// itself; a partition whose `max` is, is left out of it.
#[track_caller]
pub const fn sum(
    dependency: &'static str,
    capacity: u32,
    spare: u32,
    replicas: u32,
    partitions: &[&Partition],
) {
    let dependency_share = Share {
        capacity,
        spare,
        replicas,
    };
    let mut sum = 0_u64;
    let mut at = 0;
    while at < partitions.len() {
        let max = partitions[at].policy().max();
        if is_max(max) {
            sum += max as u64;
        }
        at += 1;
    }
    if dependency_share.check().is_ok() {
        demand(dependency_share.fits(dependency, sum));
    }
}

/// That a partition of a dependency has a name of its own, under the name of its static: two of one name
/// would be one partition, and the sum would count it twice. It is the one behind `before` others, of
/// which an array of `()` has one element each: only in there can some of them stand under a `#[cfg]`.
#[track_caller]
pub const fn distinct(partitions: &[&Partition], before: &[()]) {
    let name = partitions[before.len()].name();
    let mut earlier = 0;
    while earlier < before.len() {
        // No name at all is an error of its own.
        if !name.is_empty() && same(name, partitions[earlier].name()) {
            PolicyError::NameTwice { name }.panic()
        }
        earlier += 1;
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
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

/// The cap of a layer that gives requests their deadline.
#[cfg(feature = "tower")]
#[track_caller]
pub(crate) const fn cap(cap: Duration) {
    match check_timeout(cap) {
        Ok(()) => {}
        Err(PolicyError::TimeoutTooLong) => PolicyError::CapTooLong.panic(),
        Err(_) => PolicyError::CapTooShort.panic(),
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
