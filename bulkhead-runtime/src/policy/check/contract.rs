//! The rules about deadlines and breakers, each by itself and against what else bounds a call.

use std::time::Duration;

use super::demand;
use crate::breaker::{self, BreakerPolicyError};
use crate::partition::Partition;
use crate::policy::number::less;
use crate::policy::rules::{
    check_deadline, check_fits, check_margin, check_margin_below_deadline,
    check_mean_below_deadline, check_slow_below_deadline, check_timeout, check_wait,
};
use crate::policy::{MIN_DURATION, Policy, PolicyError};
use crate::retry::{self, RetryBudget, RetryPolicy, RetryPolicyError};

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
    fits_with(queue, wait, timeout, deadline, margin, None);
}

/// The same for a function that retries, whose `retry` is silent too where one of its values is wrong.
#[track_caller]
pub const fn retries_fit(
    queue: u32,
    wait: Duration,
    timeout: Option<Duration>,
    deadline: Duration,
    margin: Option<Duration>,
    retry: RetryPolicy,
) {
    if retry.checked().is_ok() {
        fits_with(queue, wait, timeout, deadline, margin, Some(retry));
    }
}

#[track_caller]
const fn fits_with(
    queue: u32,
    wait: Duration,
    timeout: Option<Duration>,
    deadline: Duration,
    margin: Option<Duration>,
    retry: Option<RetryPolicy>,
) {
    let wait = if queue > 0 { wait } else { Duration::ZERO };
    let in_order = match timeout {
        Some(timeout) => check_timeout(timeout).is_ok() && less(wait, timeout),
        None => true,
    };
    if in_order && check_wait(queue, wait).is_ok() && leaves_time(deadline, margin) {
        demand(check_fits(wait, timeout, retry, deadline, margin));
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
    policy_is_in_time(policy, deadline, margin);
}

/// The same for a function that retries.
#[track_caller]
pub const fn policy_retries_fit(
    policy: Policy,
    timeout: Option<Duration>,
    deadline: Duration,
    margin: Option<Duration>,
    retry: RetryPolicy,
) {
    retries_fit(
        policy.queue(),
        policy.wait(),
        timeout,
        deadline,
        margin,
        retry,
    );
    policy_is_in_time(policy, deadline, margin);
}

#[track_caller]
const fn policy_is_in_time(policy: Policy, deadline: Duration, margin: Option<Duration>) {
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

/// A body that settles under a breaker of its own, under the word.
#[track_caller]
pub const fn settle_has_timeout() {
    PolicyError::SettleWithoutTimeout.panic()
}

/// The same for the breaker of a partition that was declared elsewhere.
#[track_caller]
pub const fn settle_has_no_breaker(partition: &Partition) {
    if partition.policy().breaker().is_some() {
        PolicyError::SettleOfPartitionWithoutTimeout {
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

/// `attempts`, under its value.
#[track_caller]
pub const fn attempts(attempts: u32) {
    demand_of_retry(retry::check_attempts(attempts));
}

/// `backoff`, under its value.
#[track_caller]
pub const fn backoff(backoff: Duration) {
    demand_of_retry(retry::check_backoff(backoff));
}

/// `cap`, under its value. Only what it is by itself counts where `backoff` is out of range.
#[track_caller]
pub const fn backoff_cap(cap: Duration, backoff: Duration) {
    let backoff = if retry::check_backoff(backoff).is_ok() {
        backoff
    } else {
        Duration::ZERO
    };
    demand_of_retry(retry::check_cap(Some(cap), backoff));
}

/// `ratio` in parts of a million, under its value; where `min` is left out, against what it is then.
#[track_caller]
pub const fn ratio(ppm: u32, min: Option<u32>) {
    let min = match min {
        Some(min) => min,
        None => RetryBudget::new().min(),
    };
    demand_of_retry(retry::check_ratio(ppm, min));
}

/// `min`, under its value.
#[track_caller]
pub const fn min(min: u32) {
    demand_of_retry(retry::check_min(min));
}

/// `window` of a budget, under its value.
#[track_caller]
pub const fn budget_window(window: Duration) {
    demand_of_retry(retry::check_budget_window(window));
}

#[track_caller]
const fn demand_of_retry(result: Result<(), RetryPolicyError>) {
    if let Err(error) = result {
        PolicyError::Retry(error).panic()
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
    fn all_attempts_and_all_backoffs_have_to_fit() {
        let retry = RetryPolicy::new(3, 2 * MS);
        // 1 + 3 × 2 + 2 + 4.
        retries_fit(1, MS, Some(2 * MS), 13 * MS, None, retry);
        retries_fit(1, MS, Some(2 * MS), 14 * MS, Some(MS), retry);
        retries_fit(0, ZERO, Some(2 * MS), 12 * MS, None, retry);
        retries_fit(1, MS, None, 8 * MS, None, retry);
        let policy = Policy::new(1).with_queue(1, MS);
        policy_retries_fit(policy, Some(2 * MS), 13 * MS, None, retry);
        for wrong in [
            RetryPolicy::new(1, 2 * MS),
            RetryPolicy::new(11, 2 * MS),
            RetryPolicy::new(3, ZERO),
            RetryPolicy::new(3, 2 * MS).with_cap(MS),
        ] {
            retries_fit(1, MS, Some(2 * MS), 4 * MS, None, wrong);
        }
        backoff_cap(MS, ZERO);
    }

    #[test]
    #[should_panic = "a call can take up to 1.94s (`wait` 40ms + 3 × `timeout` 600ms + backoffs of 100ms), and its deadline leaves 1.35s (`deadline` 1.5s less `margin` 150ms); write `deadline = 2.09s` or more, or fewer `attempts`, or a shorter `wait`, `timeout` or `backoff`"]
    fn the_text_shows_the_worst_case() {
        let retry = RetryPolicy::new(3, 40 * MS).with_cap(60 * MS);
        retries_fit(
            1,
            40 * MS,
            Some(600 * MS),
            1_500 * MS,
            Some(150 * MS),
            retry,
        );
    }

    #[test]
    #[should_panic = "a call can take up to 1.24s (2 × `timeout` 600ms + backoffs of 40ms), and its `deadline` is 1.2s; write `deadline = 1.24s` or more, or no `retry`, or a shorter `timeout` or `backoff`"]
    fn two_attempts_cannot_be_fewer() {
        let retry = RetryPolicy::new(2, 40 * MS);
        retries_fit(0, ZERO, Some(600 * MS), 1_200 * MS, None, retry);
    }

    #[test]
    #[should_panic = "a call can wait for 13ms (`wait` 1ms + backoffs of 12ms), and its `deadline` is 13ms: its last attempt could not run; write a longer `deadline`, or fewer `attempts`, or a shorter `wait` or `backoff`"]
    fn without_a_timeout_the_last_attempt_can_start() {
        let retry = RetryPolicy::new(3, 4 * MS);
        retries_fit(1, MS, None, 13 * MS, None, retry);
    }

    #[test]
    fn the_longest_text_is_not_cut_off() {
        let longest = Duration::new(31_535_999, 999_999_999);
        for (attempts, end) in [
            (1, "a shorter `wait` or `timeout`"),
            (10, "a shorter `wait`, `timeout` or `backoff`"),
        ] {
            let error = PolicyError::OverDeadline {
                wait: longest,
                timeout: Some(longest),
                attempts,
                backoffs: longest,
                deadline: longest,
                margin: Some(longest),
            };
            assert!(error.to_string().ends_with(end), "{error}");
        }
        let error = PolicyError::OverDeadline {
            wait: longest,
            timeout: None,
            attempts: 10,
            backoffs: longest,
            deadline: longest,
            margin: Some(longest),
        };
        assert!(
            error.to_string().ends_with("a shorter `wait` or `backoff`"),
            "{error}"
        );
        let error = PolicyError::SettleOfPartitionWithoutTimeout {
            partition: "x234567890123456789012345678901234567890123456789012345678901234",
        };
        assert!(error.to_string().ends_with("`timeout = 2s`"), "{error}");
        let error = PolicyError::BreakerOfPartitionWithoutBound {
            partition: "x234567890123456789012345678901234567890123456789012345678901234",
        };
        assert!(error.to_string().ends_with("behind the path"), "{error}");
    }
}
