//! The rules about deadlines and breakers, each by itself and against what else bounds a call.

use std::time::Duration;

use super::demand;
use crate::breaker::{self, BreakerPolicyError};
use crate::partition::Partition;
use crate::policy::rules::{
    check_deadline, check_fits, check_margin, check_margin_below_deadline,
    check_mean_below_deadline, check_slow_below_deadline, check_timeout, check_wait, less,
};
use crate::policy::{MIN_DURATION, Policy, PolicyError};

/// `deadline`, under its value.
#[track_caller]
pub const fn deadline(deadline: Duration) {
    demand(check_deadline(deadline));
}

/// `margin`, under its value.
#[track_caller]
pub const fn margin(margin: Duration) {
    demand(check_margin(margin));
}

/// `margin` against `deadline`, under its value. Silent where one of them is out of range by itself.
#[track_caller]
pub const fn margin_below_deadline(margin: Duration, deadline: Duration) {
    if check_margin(margin).is_ok() && check_deadline(deadline).is_ok() {
        demand(check_margin_below_deadline(margin, deadline));
    }
}

/// The worst case of a call, under the value of `deadline`. Silent where one of the values is wrong by
/// itself, or against another one.
#[track_caller]
pub const fn fits(
    queue: u32,
    wait: Duration,
    timeout: Option<Duration>,
    deadline: Duration,
    margin: Option<Duration>,
) {
    let wait = if queue > 0 { wait } else { Duration::ZERO };
    let in_order = match timeout {
        Some(timeout) => check_timeout(timeout).is_ok() && less(wait, timeout),
        None => true,
    };
    if in_order && check_wait(queue, wait).is_ok() && leaves_time(deadline, margin) {
        demand(check_fits(wait, timeout, deadline, margin));
    }
}

/// The same for a partition that was declared elsewhere.
#[track_caller]
pub const fn policy_fits(
    policy: Policy,
    timeout: Option<Duration>,
    deadline: Duration,
    margin: Option<Duration>,
) {
    fits(policy.queue(), policy.wait(), timeout, deadline, margin);
    if let Some(measured) = policy.measured()
        && leaves_time(deadline, margin)
    {
        demand(check_mean_below_deadline(measured.mean(), deadline, margin));
    }
}

const fn leaves_time(deadline: Duration, margin: Option<Duration>) -> bool {
    check_deadline(deadline).is_ok()
        && match margin {
            None => true,
            Some(margin) => {
                check_margin(margin).is_ok()
                    && check_margin_below_deadline(margin, deadline).is_ok()
            }
        }
}

/// `failure_rate` in parts of a million, under its value.
#[track_caller]
pub const fn failure_rate(ppm: u32) {
    demand_of_breaker(breaker::check_failure_rate(ppm));
}

/// `slow_rate` in parts of a million, under its value.
#[track_caller]
pub const fn slow_rate(ppm: u32, slow_given: bool) {
    // How long a slow call runs is looked at where it stands.
    let slow = if slow_given { Some(MIN_DURATION) } else { None };
    demand_of_breaker(breaker::check_slow_rate(Some(ppm), slow));
}

/// `slow`, under its value.
#[track_caller]
pub const fn slow(slow: Duration) {
    demand_of_breaker(breaker::check_slow(Some(slow)));
}

/// `window`, under its value.
#[track_caller]
pub const fn window(window: Duration) {
    demand_of_breaker(breaker::check_window(window));
}

/// `min_calls`, under its value.
#[track_caller]
pub const fn min_calls(min_calls: u32) {
    demand_of_breaker(breaker::check_min_calls(min_calls));
}

/// `consecutive`, under its value.
#[track_caller]
pub const fn consecutive(consecutive: u32) {
    demand_of_breaker(breaker::check_consecutive(Some(consecutive)));
}

/// `open_for`, under its value.
#[track_caller]
pub const fn open_for(open_for: Duration) {
    demand_of_breaker(breaker::check_open_for(open_for));
}

/// `max_open_for`, under its value; where `open_for` is left out, against what it is then. Only what it is by
/// itself counts where `open_for` is out of range.
#[track_caller]
pub const fn max_open_for(max_open_for: Duration, open_for: Option<Duration>) {
    let open_for = match open_for {
        None => breaker::DEFAULT_OPEN_FOR,
        Some(open_for) if breaker::check_open_for(open_for).is_ok() => open_for,
        Some(_) => Duration::ZERO,
    };
    demand_of_breaker(breaker::check_max_open_for(Some(max_open_for), open_for));
}

/// `probes`, under its value.
#[track_caller]
pub const fn probes(probes: u32) {
    demand_of_breaker(breaker::check_probes(probes));
}

/// The breaker of a function, under its key: its calls have to end.
#[track_caller]
pub const fn breaker_has_bound(is_bounded: bool) {
    if !is_bounded {
        PolicyError::BreakerWithoutBound.panic()
    }
}

/// The same for the breaker of a partition that was declared elsewhere, under its path, where neither `timeout`
/// nor `deadline` is given.
#[track_caller]
pub const fn has_no_breaker(partition: &Partition) {
    if partition.policy().breaker().is_some() {
        PolicyError::BreakerOfPartitionWithoutBound {
            partition: partition.name(),
        }
        .panic()
    }
}

/// `slow` against what bounds a call: `timeout`, or without one what the deadline leaves. Silent where one of
/// the values is wrong by itself, or against another one.
#[track_caller]
pub const fn slow_is_reached(
    slow: Duration,
    timeout: Option<Duration>,
    deadline: Option<Duration>,
    margin: Option<Duration>,
) {
    if breaker::check_slow(Some(slow)).is_err() {
        return;
    }
    match (timeout, deadline) {
        (Some(timeout), _) if check_timeout(timeout).is_ok() => {
            demand_of_breaker(breaker::check_slow_below_timeout(slow, timeout));
        }
        (None, Some(deadline)) if leaves_time(deadline, margin) => {
            demand(check_slow_below_deadline(slow, deadline, margin));
        }
        _ => {}
    }
}

/// The same for the breaker of a partition that was declared elsewhere, under what bounds the call.
#[track_caller]
pub const fn policy_slow_is_reached(
    policy: Policy,
    timeout: Option<Duration>,
    deadline: Option<Duration>,
    margin: Option<Duration>,
) {
    if let Some(breaker) = policy.breaker()
        && let Ok(settings) = breaker.checked()
        && let Some(slow) = settings.slow()
    {
        slow_is_reached(slow, timeout, deadline, margin);
    }
}

#[track_caller]
const fn demand_of_breaker(result: Result<(), BreakerPolicyError>) {
    if let Err(error) = result {
        PolicyError::Breaker(error).panic()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::BreakerPolicy;

    const MS: Duration = Duration::from_millis(1);
    const ZERO: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_secs(500 * 24 * 60 * 60);

    #[test]
    fn what_just_fits_is_legal() {
        margin_below_deadline(MS, 2 * MS);
        fits(1, MS, Some(2 * MS), 4 * MS, Some(MS));
        fits(1, MS, Some(2 * MS), 3 * MS, None);
        fits(0, ZERO, Some(3 * MS), 4 * MS, Some(MS));
        fits(1, 2 * MS, None, 4 * MS, Some(MS));
        fits(0, ZERO, None, 2 * MS, Some(MS));
        slow_is_reached(2 * MS, Some(3 * MS), None, None);
        slow_is_reached(2 * MS, Some(3 * MS), Some(9 * MS), None);
        slow_is_reached(2 * MS, None, Some(4 * MS), Some(MS));
        max_open_for(2 * MS, Some(2 * MS));
        max_open_for(breaker::DEFAULT_OPEN_FOR, None);
        let policy = Policy::new(1).with_queue(1, MS);
        policy_fits(policy, Some(2 * MS), 3 * MS, None);
        policy_slow_is_reached(policy, Some(MS), None, None);
    }

    #[test]
    fn a_value_that_is_wrong_by_itself_is_told_once() {
        for wrong in [ZERO, LONG] {
            margin_below_deadline(3 * MS, wrong);
            fits(1, wrong, Some(2 * MS), 2 * MS, None);
            fits(1, MS, Some(wrong), MS, None);
            fits(1, MS, Some(2 * MS), wrong, None);
            fits(1, MS, Some(2 * MS), MS, Some(wrong));
            slow_is_reached(4 * MS, Some(wrong), None, None);
            slow_is_reached(4 * MS, None, Some(wrong), None);
            slow_is_reached(4 * MS, None, Some(2 * MS), Some(wrong));
            max_open_for(MS, Some(wrong));
        }
        margin_below_deadline(LONG, MS);
        slow_is_reached(ZERO, Some(MS), None, None);
        slow_rate(1, true);
    }

    #[test]
    fn two_values_that_do_not_go_together_are_told_once() {
        fits(1, 3 * MS, Some(2 * MS), 2 * MS, None);
        fits(1, MS, Some(2 * MS), 2 * MS, Some(2 * MS));
        slow_is_reached(4 * MS, None, Some(2 * MS), Some(2 * MS));
    }

    #[test]
    #[should_panic = "`slow` (2ms) must be shorter than `timeout` (2ms)"]
    fn a_timeout_is_held_against_slow_also_where_the_deadline_is_wrong() {
        slow_is_reached(2 * MS, Some(2 * MS), Some(ZERO), None);
    }

    #[test]
    #[should_panic = "`slow` (3ms) must be shorter than what a call has: its `deadline` is 2ms"]
    fn slow_calls_of_a_partition_fit_the_deadline_of_its_function() {
        let breaker = BreakerPolicy::new().with_slow(3 * MS);
        let policy = Policy::new(1).with_breaker(breaker);
        policy_slow_is_reached(policy, None, Some(2 * MS), None);
    }

    #[test]
    fn the_longest_text_is_not_cut_off() {
        let longest = Duration::new(31_535_999, 999_999_999);
        let error = PolicyError::OverDeadline {
            wait: longest,
            timeout: Some(longest),
            deadline: longest,
            margin: Some(longest),
        };
        assert!(
            error.to_string().ends_with("a shorter `wait` or `timeout`"),
            "{error}"
        );
        let error = PolicyError::BreakerOfPartitionWithoutBound {
            partition: "x234567890123456789012345678901234567890123456789012345678901234",
        };
        assert!(error.to_string().ends_with("behind the path"), "{error}");
    }
}
