//! The two formulas: when a closed breaker trips, and for how long an open one stays open.

use std::time::Duration;

use super::settings::Settings;
use super::transition::BreakerCause;
use super::window::{Totals, nanos};
use crate::policy::number::PPM;

/// A random fraction, in parts of 2³²: 0 is none, `u32::MAX` is almost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jitter(pub(crate) u32);

/// Jitter makes a cool-down longer by less than this part of it: less than a fifth.
const JITTER_PART: u64 = 5;

/// Whether a breaker trips that counts these calls in its window, and so many failures since the last
/// success. A share that is reached exactly trips.
pub(super) fn trips(settings: &Settings, totals: Totals, consecutive: u32) -> Option<BreakerCause> {
    if settings
        .consecutive()
        .is_some_and(|most| consecutive >= most)
    {
        return Some(BreakerCause::Consecutive {
            failures: consecutive,
        });
    }
    if totals.calls < u64::from(settings.min_calls()) {
        return None;
    }
    // A window counts less than 2³⁶ calls, and a million is less than 2²⁰: no product overflows.
    let reaches = |some: u64, ppm: u32| some * u64::from(PPM) >= totals.calls * u64::from(ppm);
    if reaches(totals.failures, settings.failure_rate()) {
        return Some(BreakerCause::failure_rate(totals));
    }
    let slow_rate = settings.slow_rate()?;
    reaches(totals.slow, slow_rate).then_some(BreakerCause::slow_rate(totals))
}

/// The cool-down of an opening, the `openings`-th in a row: `open_for`, doubled for each one before it, at
/// most `max_open_for`; and then times a factor from 1 to 1.2, so never 1.2 times `max_open_for`.
///
/// Jitter only ever lengthens: what the settings promise a dependency is the least that it gets.
pub(super) fn cool_down(settings: &Settings, openings: u32, jitter: Jitter) -> Duration {
    let doublings = openings.saturating_sub(1);
    let grown =
        nanos(settings.open_for()).saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX));
    let bare = grown.min(nanos(settings.max_open_for()));
    let longer = (u128::from(bare / JITTER_PART) * u128::from(jitter.0)) >> u32::BITS;
    Duration::from_nanos(bare) + Duration::from_nanos(u64::try_from(longer).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::settings::{BreakerPolicy, MAX_OPEN_FOR};
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const NONE: Jitter = Jitter(0);
    const MOST: Jitter = Jitter(u32::MAX);

    fn totals(calls: u64, failures: u64, slow: u64) -> Totals {
        Totals {
            calls,
            failures,
            slow,
        }
    }

    #[test]
    fn a_share_of_fewer_calls_than_min_calls_means_nothing() {
        let settings = BreakerPolicy::new().demanded();
        assert_eq!(trips(&settings, totals(19, 19, 19), 19), None);
        let all = totals(20, 20, 0);
        assert_eq!(
            trips(&settings, all, 20),
            Some(BreakerCause::failure_rate(all))
        );
    }

    #[test]
    fn a_share_that_is_reached_exactly_trips_and_one_call_less_does_not() {
        let settings = BreakerPolicy::new().failure_ppm(333_333).demanded();
        let third = totals(300, 100, 0);
        assert_eq!(
            trips(&settings, third, 0),
            Some(BreakerCause::failure_rate(third))
        );
        assert_eq!(trips(&settings, totals(300, 99, 0), 0), None);
        let all = BreakerPolicy::new().failure_ppm(PPM).demanded();
        assert_eq!(trips(&all, totals(1_000, 999, 0), 0), None);
        assert!(
            trips(&all, totals(1_000, 1_000, 0), 0).is_some(),
            "all of them"
        );
    }

    #[test]
    fn slow_calls_trip_only_where_slow_is_set_and_by_their_own_share() {
        let slow = totals(20, 0, 20);
        assert_eq!(trips(&BreakerPolicy::new().demanded(), slow, 0), None);
        let settings = BreakerPolicy::new().with_slow(MS).slow_ppm(PPM).demanded();
        assert_eq!(
            trips(&settings, slow, 0),
            Some(BreakerCause::slow_rate(slow))
        );
        assert_eq!(trips(&settings, totals(20, 0, 19), 0), None);
    }

    #[test]
    fn rare_calls_trip_by_failures_in_a_row() {
        let settings = BreakerPolicy::new().with_consecutive(3).demanded();
        assert_eq!(trips(&settings, totals(1, 1, 0), 2), None);
        assert_eq!(
            trips(&settings, totals(1, 1, 0), 3),
            Some(BreakerCause::Consecutive { failures: 3 })
        );
    }

    #[test]
    fn a_full_window_does_not_overflow() {
        let most = 10 * u64::from(u32::MAX);
        let settings = BreakerPolicy::new().failure_ppm(PPM).demanded();
        assert_eq!(trips(&settings, totals(most, most - 1, 0), 0), None);
        assert!(
            trips(&settings, totals(most, most, 0), 0).is_some(),
            "all of them"
        );
    }

    #[test]
    fn each_opening_in_a_row_doubles_the_cool_down_up_to_its_limit() {
        let settings = BreakerPolicy::new()
            .with_open_for(10 * MS)
            .with_max_open_for(75 * MS)
            .demanded();
        let ms = |openings| cool_down(&settings, openings, NONE).as_millis();
        assert_eq!([1, 2, 3, 4, 5].map(ms), [10, 20, 40, 75, 75]);
        assert_eq!([64, 65, u32::MAX].map(ms), [75, 75, 75]);
    }

    #[test]
    fn jitter_lengthens_by_less_than_a_fifth_and_never_shortens() {
        let settings = BreakerPolicy::new().with_open_for(100 * MS).demanded();
        assert_eq!(cool_down(&settings, 1, NONE), 100 * MS);
        assert_eq!(cool_down(&settings, 1, Jitter(1 << 31)), 110 * MS);
        let most = cool_down(&settings, 1, MOST);
        assert!(119 * MS < most && most < 120 * MS, "{most:?}");
        let longest = BreakerPolicy::new().with_open_for(MAX_OPEN_FOR).demanded();
        assert!(
            cool_down(&longest, u32::MAX, MOST) < MAX_OPEN_FOR * 6 / 5,
            "stated"
        );
    }
}
