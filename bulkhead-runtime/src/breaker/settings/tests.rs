use super::BreakerPolicyError as E;
use super::*;

const MS: Duration = Duration::from_millis(1);
const NS: Duration = Duration::from_nanos(1);
const SHORT: Duration = Duration::from_nanos(99_999_999);

#[test]
fn what_is_left_out_has_the_documented_value_also_in_a_const() {
    const SETTINGS: Settings = BreakerPolicy::new().demanded();
    assert_eq!(SETTINGS.failure_rate(), 500_000);
    assert_eq!((SETTINGS.slow(), SETTINGS.slow_rate()), (None, None));
    assert_eq!(SETTINGS.window(), Duration::from_secs(10));
    assert_eq!((SETTINGS.min_calls(), SETTINGS.consecutive()), (20, None));
    assert_eq!(SETTINGS.open_for(), Duration::from_secs(30));
    assert_eq!(SETTINGS.max_open_for(), Duration::from_secs(300));
    assert_eq!(SETTINGS.probes(), 2);
}

#[test]
fn a_long_cool_down_alone_is_no_mistake() {
    let settings = BreakerPolicy::new().with_open_for(600_000 * MS).demanded();
    assert_eq!(settings.max_open_for(), Duration::from_secs(600));
}

#[test]
fn slow_calls_have_the_share_of_failures_unless_theirs_is_said() {
    let policy = BreakerPolicy::new().failure_ppm(7).with_slow(MS);
    assert_eq!(policy.demanded().slow_rate(), Some(7));
    assert_eq!(policy.slow_ppm(9).demanded().slow_rate(), Some(9));
}

#[test]
fn both_ends_of_every_range_are_legal() {
    for policy in [
        BreakerPolicy::new().failure_ppm(1),
        BreakerPolicy::new().failure_ppm(PPM),
        BreakerPolicy::new().with_slow(NS).slow_ppm(1),
        BreakerPolicy::new().with_slow(NS).slow_ppm(PPM),
        BreakerPolicy::new().with_window(100 * MS),
        BreakerPolicy::new().with_window(3_600_000 * MS),
        BreakerPolicy::new().with_min_calls(1).with_consecutive(1),
        BreakerPolicy::new().with_open_for(MS).with_max_open_for(MS),
        BreakerPolicy::new().with_open_for(MAX_OPEN_FOR),
        BreakerPolicy::new().with_max_open_for(MAX_OPEN_FOR),
        BreakerPolicy::new().with_probes(1),
        BreakerPolicy::new().with_probes(1_000),
    ] {
        assert!(policy.checked().is_ok(), "{:?}", policy.checked());
    }
}

#[test]
fn whatever_is_next_to_a_range_is_refused_by_its_own_rule() {
    let new = BreakerPolicy::new();
    let slow = new.with_slow(MS);
    let over = MAX_OPEN_FOR + NS;
    let failure_rate = PPM + 1;
    let (slow_rate, open_for, probes) = (failure_rate, Duration::from_micros(999), MAX_PROBES + 1);
    for (policy, error) in [
        (new.failure_ppm(0), E::FailureRateZero),
        (
            new.failure_ppm(failure_rate),
            E::FailureRateTooLarge { failure_rate },
        ),
        (new.with_slow(Duration::ZERO), E::SlowZero),
        (slow.slow_ppm(0), E::SlowRateZero),
        (slow.slow_ppm(slow_rate), E::SlowRateTooLarge { slow_rate }),
        (new.slow_ppm(5), E::SlowRateWithoutSlow { slow_rate: 5 }),
        (new.with_window(SHORT), E::WindowTooShort { window: SHORT }),
        (
            new.with_window(MAX_WINDOW + NS),
            E::WindowTooLong {
                window: MAX_WINDOW + NS,
            },
        ),
        (new.with_min_calls(0), E::MinCallsZero),
        (new.with_consecutive(0), E::ConsecutiveZero),
        (new.with_open_for(open_for), E::OpenForTooShort { open_for }),
        (new.with_open_for(over), E::OpenForTooLong),
        (new.with_max_open_for(over), E::MaxOpenForTooLong),
        (
            new.with_open_for(2 * MS).with_max_open_for(MS),
            E::MaxOpenForBelowOpenFor {
                max_open_for: MS,
                open_for: 2 * MS,
            },
        ),
        (new.with_probes(0), E::ProbesZero),
        (new.with_probes(probes), E::ProbesTooMany { probes }),
    ] {
        assert_eq!(policy.checked(), Err(error));
    }
}

#[test]
fn a_call_that_is_only_slow_once_it_has_timed_out_is_never_only_slow() {
    assert_eq!(check_slow_below_timeout(MS, 2 * MS), Ok(()));
    let (slow, timeout) = (MS, MS);
    let error = E::SlowNotBelowTimeout { slow, timeout };
    assert_eq!(check_slow_below_timeout(slow, timeout), Err(error));
}

#[test]
#[should_panic(expected = "`probes` must be at least 1")]
fn a_const_does_not_compile_with_a_broken_rule() {
    let _settings = BreakerPolicy::new().with_probes(0).demanded();
}
