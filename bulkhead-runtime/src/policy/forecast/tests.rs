//! The forecast against textbooks, against sums that take no shortcut, and against a simulation.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::*;

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const SECOND: Duration = Duration::from_secs(1);

/// A partition and its traffic.
#[derive(Debug, Clone, Copy)]
struct Case {
    max: u32,
    queue: u32,
    wait: Duration,
    rate: f64,
    mean: Duration,
}

impl Case {
    /// A legal policy of at most `most` permits and places, under light load up to threefold
    /// overload; its wait is from a small part to a multiple of what the full queue takes.
    fn random(dice: &mut Dice, most: u32) -> Self {
        let (max, mean) = (dice.number(most), dice.between(1e-3, 1.0));
        let queue = dice.number(most + 1) - 1;
        let drain = f64::from(queue) * mean / f64::from(max);
        let wait = match queue {
            0 => 0.0,
            _ => (dice.between(0.05, 3.0) * drain).max(1e-3),
        };
        Self {
            max,
            queue,
            wait: Duration::from_secs_f64(wait),
            rate: dice.between(0.2, 3.0) * f64::from(max) / mean,
            mean: Duration::from_secs_f64(mean),
        }
    }

    fn share(self) -> f64 {
        rejected_share(self.max, self.queue, self.wait, self.rate, self.mean)
    }

    /// One minus the part of the offered load that is in flight, over every state from 0 on.
    fn share_by_every_state(self) -> f64 {
        let permits = f64::from(self.max);
        let load = self.rate * self.mean.as_secs_f64();
        let turns = permits * self.wait.as_secs_f64() / self.mean.as_secs_f64();
        let (mut state, mut all, mut in_flight) = (1.0, 1.0, 0.0);
        for n in 1..=self.max {
            state *= load / f64::from(n);
            all += state;
            in_flight += f64::from(n) * state;
        }
        for waiting in 1..=self.queue {
            state *= load / permits;
            let weight = state * at_least_by_quadrature(waiting, turns);
            all += weight;
            in_flight += permits * weight;
        }
        1.0 - in_flight / all / load
    }

    /// Arrivals, ends of bodies and wait timeouts as they happen, in nanoseconds.
    fn share_by_simulation(self, calls: u32, dice: &mut Dice) -> f64 {
        let (mut now, mut rejected) = (0, 0);
        let mut ends = BinaryHeap::new();
        let mut timeouts = VecDeque::new();
        for _ in 0..calls {
            now += dice.exponential(1.0 / self.rate);
            loop {
                let end = ends.peek().map_or(u64::MAX, |&Reverse(end)| end);
                if timeouts.front().is_some_and(|&due| due < end.min(now)) {
                    timeouts.pop_front();
                    rejected += 1;
                } else if end < now {
                    ends.pop();
                    if timeouts.pop_front().is_some() {
                        ends.push(Reverse(end + dice.exponential(self.mean.as_secs_f64())));
                    }
                } else {
                    break;
                }
            }
            if ends.len() < self.max as usize {
                ends.push(Reverse(now + dice.exponential(self.mean.as_secs_f64())));
            } else if timeouts.len() < self.queue as usize {
                timeouts.push_back(now + nanos(self.wait.as_secs_f64()));
            } else {
                rejected += 1;
            }
        }
        f64::from(rejected) / f64::from(calls)
    }
}

/// Pr[Poisson(`mean`) ≥ `n`] as the integral of Erlang's density, by Simpson's rule.
fn at_least_by_quadrature(n: u32, mean: f64) -> f64 {
    let density = |t: f64| (1..n).fold((-t).exp(), |density, k| density * t / f64::from(k));
    let steps = 2_400;
    let width = mean / f64::from(steps);
    let weighed = |step: u32| match step {
        0 => density(0.0),
        _ if step == steps => density(mean),
        _ => f64::from(2 + 2 * (step % 2)) * density(f64::from(step) * width),
    };
    (0..=steps).map(weighed).sum::<f64>() * width / 3.0
}

/// M/M/c/K from its first state on: the reciprocal of the share, one state at a time.
fn share_of_an_endless_wait(max: u32, queue: u32, load: f64) -> f64 {
    let permits = (1..=max).fold(1.0, |odds, n| 1.0 + odds * f64::from(n) / load);
    1.0 / (0..queue).fold(permits, |odds, _| 1.0 + odds * f64::from(max) / load)
}

/// Splitmix64, of which the upper half is used.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((bits ^ (bits >> 31)) >> 32).expect("32 bits are left")
    }

    /// 1 to `most`.
    fn number(&mut self, most: u32) -> u32 {
        1 + self.bits() % most
    }

    /// Above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        (f64::from(self.bits()) + 1.0) / 2_f64.powi(32)
    }

    /// Spread evenly over the orders of magnitude.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        high * (low / high).powf(self.uniform())
    }

    fn exponential(&mut self, mean: f64) -> u64 {
        nanos(-self.uniform().ln() * mean)
    }
}

fn nanos(seconds: f64) -> u64 {
    u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).expect("less than 500 years")
}

fn assert_close(found: f64, expected: f64, tolerance: f64, what: impl std::fmt::Debug) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected}: {what:?}"
    );
}

#[test]
fn forty_calls_a_second_of_50_ms_match_the_tables_of_erlang_b() {
    for (max, percent) in [(2, 40.0), (4, 9.52), (6, 1.21), (7, 0.34)] {
        let share = rejected_share(max, 0, Duration::ZERO, 40.0, Duration::from_millis(50));
        assert_close(share * 100.0, percent, 0.005, max);
    }
}

#[test]
fn it_compiles_into_a_constant() {
    const SHARE: f64 = rejected_share(4, 8, SECOND, 40.0, Duration::from_millis(50));
    const MAX: Option<u32> = smallest_max(0, Duration::ZERO, 40.0, Duration::from_millis(50), 0.01);
    assert_close(
        SHARE,
        share_of_an_endless_wait(4, 8, 2.0),
        1e-7,
        "4 permits",
    );
    assert_eq!(MAX, Some(7));
}

#[test]
fn one_permit_and_an_endless_wait_is_the_textbook_queue() {
    for places in [1_u8, 4, 30] {
        let share = |rate| rejected_share(1, u32::from(places), YEAR, rate, SECOND);
        for rho in [0.1_f64, 0.5, 0.9, 1.1, 4.0] {
            let full = rho.powi(i32::from(places) + 1);
            let expected = full * (1.0 - rho) / (1.0 - full * rho);
            assert_close(share(rho), expected, expected * 1e-7, (places, rho));
        }
        assert_close(share(1.0), 1.0 / (f64::from(places) + 2.0), 1e-8, places);
    }
}

#[test]
fn a_million_permits_are_summed_as_if_from_the_first_state_on() {
    for (max, queue, rate) in [
        (MAX_PERMITS, 0, 1_047_000.0),
        (MAX_PERMITS, 0, 1_100_000.0),
        (MAX_PERMITS, 3_000, 1_048_576.0),
        (500_000, MAX_PERMITS, 500_000.5),
        (7, MAX_PERMITS, 6.999_99),
    ] {
        let share = rejected_share(max, queue, YEAR, rate, SECOND);
        let expected = share_of_an_endless_wait(max, queue, rate);
        assert_close(share, expected, expected * 1e-7, (max, queue, rate));
    }
}

#[test]
fn random_policies_match_the_sum_over_every_state() {
    let mut dice = Dice(1);
    for _ in 0..60 {
        let mut case = Case::random(&mut dice, 12);
        assert_close(case.share(), case.share_by_every_state(), 1e-10, case);
        let excess = dice.between(1e-9, 1e-3);
        case.rate = f64::from(case.max) * (1.0 + excess) / case.mean.as_secs_f64();
        assert_close(case.share(), case.share_by_every_state(), 1e-8, case);
    }
}

/// Where the sums would cancel, and change over to another form.
#[test]
fn the_share_does_not_jump_where_calls_come_as_fast_as_they_end() {
    for (max, queue, wait) in [
        (1, 1, 3),
        (30, 12, 1),
        (523_000, 1_048_000, 2),
        (9, 9_000, 900),
    ] {
        let depth = f64::from(queue);
        let at = |step: f64| {
            let rate = f64::from(max) * (1.0 + step * 1e-7 / depth);
            rejected_share(max, queue, SECOND * wait, rate, SECOND)
        };
        for step in [-10.0, -1.1, -0.9, 0.9, 1.1, 10.0] {
            assert_close(at(step), at(0.0), at(0.0) * 1.5e-6, (max, queue, step));
        }
    }
}

/// The standard error of these simulations is 0.2 points in most and 0.35 at most, a third of what is
/// allowed.
#[test]
fn random_policies_reject_in_a_simulation_what_was_forecast() {
    let mut dice = Dice(2);
    for _ in 0..32 {
        let case = Case::random(&mut dice, 12);
        let simulated = case.share_by_simulation(100_000, &mut dice);
        assert_close(case.share(), simulated, 0.01, case);
    }
}

#[test]
fn every_further_permit_lowers_the_share() {
    let mut dice = Dice(3);
    for _ in 0..40 {
        let mut case = Case::random(&mut dice, 60);
        for _ in 0..30 {
            let fewer = case.share();
            case.max += 1;
            assert!(case.share() < fewer, "{fewer} before {case:?}");
        }
    }
}

#[test]
fn no_extreme_leaves_the_range_of_a_share() {
    let durations =
        [0.0, 1e-9, 1e-6, 1e-3, 1.0, 1e4, YEAR.as_secs_f64()].map(Duration::from_secs_f64);
    for max in [1, 2, 17, 1000, MAX_PERMITS] {
        for queue in [0, 1, 17, 1000, 1 << 20] {
            for rate in [0.0, 1e-3, 1.0, 1e3, 1e6, 1e9, f64::MAX] {
                for (wait, mean) in durations
                    .iter()
                    .flat_map(|wait| durations.map(|mean| (*wait, mean)))
                {
                    let share = rejected_share(max, queue, wait, rate, mean);
                    assert!(
                        (0.0..=1.0).contains(&share),
                        "{share}: {max} {queue} {wait:?} {rate} {mean:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_smallest_max_is_enough_and_one_permit_less_is_not() {
    let mut dice = Dice(4);
    for _ in 0..30 {
        let mut case = Case::random(&mut dice, 60);
        let shed = dice.between(1e-9, 0.5);
        case.max = smallest_max(case.queue, case.wait, case.rate, case.mean, shed)
            .expect("the load is far below the limit");
        assert!(case.share() <= shed, "{case:?}");
        let again = smallest_max(case.queue, case.wait, case.rate, case.mean, case.share());
        assert_eq!(again, Some(case.max), "{case:?}");
        case.max -= 1;
        assert!(case.max == 0 || case.share() > shed, "{case:?}");
    }
    assert_eq!(smallest_max(0, Duration::ZERO, 1e9, SECOND, 0.5), None);
}

#[test]
fn a_place_is_dead_when_its_call_waits_longer_than_wait_on_average() {
    let mut dice = Dice(5);
    for _ in 0..2_000 {
        let [max, queue, wait, mean] = [9, 40, 30, 30].map(|most| dice.number(most));
        let late = |k: &u32| k * mean > wait * max;
        let expected = (1..=queue).filter(late).count();
        let [wait, mean] = [wait, mean].map(|ms| Duration::from_millis(ms.into()));
        let found = dead_places(max, queue, wait, mean);
        assert_eq!(found as usize, expected, "{max} {queue} {wait:?} {mean:?}");
    }
    assert_eq!(dead_places(MAX_PERMITS, 1 << 20, YEAR, YEAR), 0);
    assert_eq!(dead_places(1, 1 << 20, YEAR, YEAR), (1 << 20) - 1);
}
