//! The machine against one that keeps everything that ever happened and counts it anew each time.
//!
//! A failed case is a list of steps. `PROPTEST_CASES` says how many cases are tried.

#![expect(clippy::cast_precision_loss, reason = "the numbers are small")]

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;

use super::machine::{Look, Machine, Seen, Ticket};
use super::rules::Jitter;
use super::settings::{BreakerPolicy, Settings};
use super::transition::{BreakerCause, BreakerState, BreakerTransition};
use crate::time::Stamp;

const MS: u64 = 1_000_000;

#[derive(Debug, Clone, Copy)]
struct Numbers {
    failure_rate: u32,
    slow: bool,
    slow_rate: Option<u32>,
    window: u64,
    min_calls: usize,
    consecutive: Option<usize>,
    open_for: u64,
    max_open_for: u64,
    probes: usize,
}

#[derive(Debug, Clone)]
enum Step {
    Wait {
        nanos: u64,
    },
    Back {
        nanos: u64,
    },
    /// To the end of the cool-down or to the next expiry, and so many nanoseconds further.
    ToTheEdge {
        beyond: u64,
    },
    Look,
    Take {
        expires_after: u64,
    },
    Report {
        which: Index,
        seen: Seen,
    },
    GiveBack {
        which: Index,
    },
    ForceOpen,
    Disable,
    Reset,
}

struct Call {
    era: u64,
    seen: Seen,
    slice: u64,
}

#[derive(PartialEq)]
enum Fate {
    Out,
    GivenBack,
    Succeeded,
}

struct Probe {
    era: u64,
    expires: u64,
    fate: Fate,
}

struct Naive {
    numbers: Numbers,
    /// Every state that it ever was in; its era is the last one's index.
    states: Vec<BreakerState>,
    until: u64,
    calls: Vec<Call>,
    probes: Vec<Probe>,
}

/// The era of a ticket, and which probe it is.
type Held = (u64, Option<usize>);

impl Naive {
    fn state(&self) -> BreakerState {
        *self.states.last().expect("it began in one")
    }

    fn era(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    /// How often it opened since it was last in another state than open and half-open.
    fn openings(&self) -> i32 {
        let row = self.states.iter().rev();
        let row =
            row.take_while(|state| matches!(state, BreakerState::Open | BreakerState::HalfOpen));
        i32::try_from(row.filter(|&&state| state == BreakerState::Open).count()).expect("few")
    }

    fn out(&self) -> Vec<&Probe> {
        let is_out = |probe: &&Probe| probe.era == self.era() && probe.fate == Fate::Out;
        self.probes.iter().filter(is_out).collect()
    }

    fn succeeded(&self) -> usize {
        let won = |probe: &&Probe| probe.era == self.era() && probe.fate == Fate::Succeeded;
        self.probes.iter().filter(won).count()
    }

    fn places(&self) -> usize {
        self.numbers.probes - self.succeeded() - self.out().len()
    }

    fn edge(&self) -> Option<u64> {
        match self.state() {
            BreakerState::Open => Some(self.until),
            BreakerState::HalfOpen => self.out().iter().map(|probe| probe.expires).min(),
            _ => None,
        }
    }

    fn enter(&mut self, to: BreakerState) -> (BreakerState, BreakerState) {
        let from = self.state();
        self.states.push(to);
        (from, to)
    }

    /// Takes the length of the cool-down from the machine, once it is one that may be.
    fn open(
        &mut self,
        since: u64,
        told: Option<&BreakerTransition>,
        jitter: u32,
    ) -> (BreakerState, BreakerState) {
        let moved = self.enter(BreakerState::Open);
        let open_for = told.and_then(|told| told.open_for).expect("it opened, too");
        let grown = self.numbers.open_for as f64 * 2_f64.powi(self.openings() - 1);
        let factor = 1.0 + 0.2 * f64::from(jitter) / 4_294_967_296.0;
        let expected = grown.min(self.numbers.max_open_for as f64) * factor;
        let actual = open_for.as_nanos() as f64;
        assert!((actual - expected).abs() < 10.0, "{actual}, not {expected}");
        self.until = since + u64::try_from(open_for.as_nanos()).expect("short");
        moved
    }

    fn find_hung(
        &mut self,
        now: u64,
        told: Option<&BreakerTransition>,
        jitter: u32,
    ) -> Option<(BreakerState, BreakerState)> {
        let expiry = self
            .edge()
            .filter(|_| self.state() == BreakerState::HalfOpen)?;
        (expiry < now).then(|| self.open(expiry, told, jitter))
    }

    fn look(&self, now: u64) -> &'static str {
        match self.state() {
            BreakerState::Closed | BreakerState::Disabled => "pass",
            BreakerState::Open if self.until <= now => "half-open",
            BreakerState::HalfOpen if self.places() > 0 => "half-open",
            _ => "open",
        }
    }

    fn retry_after(&self, now: u64) -> Option<Duration> {
        let edge = self
            .edge()
            .filter(|_| self.state() != BreakerState::HalfOpen || self.places() == 0);
        let left = edge?.saturating_sub(now);
        Some(Duration::from_nanos(
            if self.state() == BreakerState::HalfOpen {
                left.min(self.numbers.open_for)
            } else {
                left
            },
        ))
    }

    fn take(&mut self, expires: u64) -> Option<Held> {
        let era = self.era();
        match self.state() {
            BreakerState::Closed | BreakerState::Disabled => Some((era, None)),
            BreakerState::HalfOpen if self.places() > 0 => {
                let fate = Fate::Out;
                self.probes.push(Probe { era, expires, fate });
                Some((era, Some(self.probes.len() - 1)))
            }
            _ => None,
        }
    }

    fn is_failure(seen: Seen) -> bool {
        matches!(seen, Seen::Failure { .. })
    }

    fn is_slow(&self, seen: Seen) -> bool {
        let slow = matches!(
            seen,
            Seen::Success { slow: true } | Seen::Failure { slow: true } | Seen::CutShort
        );
        slow && self.numbers.slow
    }

    fn says_nothing(&self, seen: Seen) -> bool {
        seen == Seen::Nothing || seen == Seen::CutShort && !self.numbers.slow
    }

    /// All calls, failures and slow ones in the window of this era.
    fn totals(&self, now: u64) -> [usize; 3] {
        if self.state() != BreakerState::Closed {
            return [0; 3];
        }
        let of_era = || self.calls.iter().filter(|call| call.era == self.era());
        let newest = of_era().map(|call| call.slice).max().unwrap_or(0);
        let newest = newest.max(now / (self.numbers.window / 10));
        let seen = || {
            of_era()
                .filter(|call| call.slice + 10 > newest)
                .map(|call| call.seen)
        };
        [
            seen().count(),
            seen().filter(|&seen| Self::is_failure(seen)).count(),
            seen().filter(|&seen| self.is_slow(seen)).count(),
        ]
    }

    fn trips(&self, now: u64) -> bool {
        let row = self
            .calls
            .iter()
            .rev()
            .filter(|call| call.era == self.era());
        let row = row.take_while(|call| !matches!(call.seen, Seen::Success { .. }));
        let row = row.filter(|call| Self::is_failure(call.seen)).count();
        let [calls, failures, slow] = self.totals(now);
        let share = |some: usize| some as f64 / calls as f64;
        let rate = |ppm: u32| f64::from(ppm) / 1e6;
        let slow_rate = self.numbers.slow_rate.unwrap_or(self.numbers.failure_rate);
        let enough = calls >= self.numbers.min_calls;
        self.numbers.consecutive.is_some_and(|most| row >= most)
            || enough && share(failures) >= rate(self.numbers.failure_rate)
            || enough && self.numbers.slow && share(slow) >= rate(slow_rate)
    }

    fn give_back(&mut self, now: u64, (era, probe): Held) {
        let current = self.era();
        if let Some(probe) = probe.filter(|_| era == current) {
            let probe = &mut self.probes[probe];
            if probe.fate == Fate::Out && probe.expires >= now {
                probe.fate = Fate::GivenBack;
            }
        }
    }

    fn report(
        &mut self,
        now: u64,
        held: Held,
        seen: Seen,
        told: Option<&BreakerTransition>,
        jitter: u32,
    ) -> Option<(BreakerState, BreakerState)> {
        let (era, probe) = held;
        if era != self.era() {
            return None;
        }
        if self.says_nothing(seen) {
            self.give_back(now, held);
            return None;
        }
        if let Some(reopened) = self.find_hung(now, told, jitter) {
            return Some(reopened);
        }
        match probe {
            None if self.state() == BreakerState::Closed => {
                let of_era = self.calls.iter().filter(|call| call.era == era);
                let newest = of_era.map(|call| call.slice).max().unwrap_or(0);
                let slice = newest.max(now / (self.numbers.window / 10));
                self.calls.push(Call { era, seen, slice });
                self.trips(now).then(|| self.open(now, told, jitter))
            }
            Some(probe) if self.probes[probe].fate == Fate::Out => {
                if Self::is_failure(seen) || self.is_slow(seen) {
                    return Some(self.open(now, told, jitter));
                }
                self.probes[probe].fate = Fate::Succeeded;
                (self.succeeded() == self.numbers.probes).then(|| self.enter(BreakerState::Closed))
            }
            _ => None,
        }
    }

    fn by_hand(&mut self, to: BreakerState) -> Option<(BreakerState, BreakerState)> {
        let was = self.state();
        if was == to && to != BreakerState::Closed {
            return None;
        }
        let moved = self.enter(to);
        (was != to).then_some(moved)
    }
}

fn settings(numbers: Numbers) -> Settings {
    let mut policy = BreakerPolicy::new()
        .failure_ppm(numbers.failure_rate)
        .with_window(Duration::from_nanos(numbers.window))
        .with_min_calls(u32::try_from(numbers.min_calls).expect("small"))
        .with_open_for(Duration::from_nanos(numbers.open_for))
        .with_max_open_for(Duration::from_nanos(numbers.max_open_for))
        .with_probes(u32::try_from(numbers.probes).expect("small"));
    if let Some(consecutive) = numbers.consecutive {
        policy = policy.with_consecutive(u32::try_from(consecutive).expect("small"));
    }
    if numbers.slow {
        policy = policy.with_slow(Duration::from_millis(1));
        if let Some(slow_rate) = numbers.slow_rate {
            policy = policy.slow_ppm(slow_rate);
        }
    }
    policy.demanded()
}

fn rate() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![1, 250_000, 333_333, 500_000, 666_667, 1_000_000])
}

prop_compose! {
    fn numbers()(
        failure_rate in rate(),
        slow in any::<bool>(),
        slow_rate in prop::option::of(rate()),
        window in 100 * MS..300 * MS,
        min_calls in 1..8_usize,
        consecutive in prop::option::of(1..5_usize),
        open_for in MS..100 * MS,
        longer in 0..400 * MS,
        probes in 1..5_usize,
    ) -> Numbers {
        let max_open_for = open_for + longer;
        Numbers { failure_rate, slow, slow_rate, window, min_calls, consecutive, open_for, max_open_for, probes }
    }
}

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        4 => prop::bool::weighted(0.2).prop_map(|slow| Seen::Success { slow }),
        3 => any::<bool>().prop_map(|slow| Seen::Failure { slow }),
        1 => Just(Seen::CutShort),
        1 => Just(Seen::Nothing),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![0..5 * MS, 0..40 * MS, 0..400 * MS].prop_map(|nanos| Step::Wait { nanos }),
        1 => (0..30 * MS).prop_map(|nanos| Step::Back { nanos }),
        4 => (0..2_u64).prop_map(|beyond| Step::ToTheEdge { beyond }),
        3 => Just(Step::Look),
        14 => prop_oneof![0..3_u64, 0..200 * MS].prop_map(|expires_after| Step::Take { expires_after }),
        14 => (any::<Index>(), seen()).prop_map(|(which, seen)| Step::Report { which, seen }),
        3 => any::<Index>().prop_map(|which| Step::GiveBack { which }),
        1 => prop::sample::select(vec![Step::ForceOpen, Step::Disable, Step::Reset, Step::Reset]),
    ]
}

fn names(moves: impl IntoIterator<Item = BreakerTransition>) -> Vec<(BreakerState, BreakerState)> {
    moves
        .into_iter()
        .map(|moved| (moved.from, moved.to))
        .collect()
}

/// That each cause stands beside the move which it is the cause of.
fn has_its_cause(told: &BreakerTransition) -> bool {
    let of = |from, to| (told.from, told.to) == (from, to);
    match told.cause {
        BreakerCause::FailureRate { .. }
        | BreakerCause::SlowRate { .. }
        | BreakerCause::Consecutive { failures: _ } => of(BreakerState::Closed, BreakerState::Open),
        BreakerCause::CooledDown => of(BreakerState::Open, BreakerState::HalfOpen),
        BreakerCause::ProbeFailed | BreakerCause::ProbeSlow | BreakerCause::ProbeExpired => {
            of(BreakerState::HalfOpen, BreakerState::Open)
        }
        BreakerCause::ProbesSucceeded => of(BreakerState::HalfOpen, BreakerState::Closed),
        BreakerCause::ByHand => told.to != BreakerState::Open && told.to != BreakerState::HalfOpen,
    }
}

proptest! {
    #[test]
    fn behaves_like_one_that_counts_everything_anew(
        numbers in numbers(),
        start in prop_oneof![Just(1), any::<u32>().prop_map(u64::from)],
        steps in prop::collection::vec((step(), any::<u32>()), 0..150),
    ) {
        let mut machine = Machine::new(settings(numbers));
        let mut naive = Naive {
            numbers,
            states: vec![BreakerState::Closed],
            until: 0,
            calls: Vec::new(),
            probes: Vec::new(),
        };
        let mut held: Vec<(Ticket, Held)> = Vec::new();
        let mut now = start;
        for (step, random) in steps {
            let (stamp, jitter) = (Stamp(now), Jitter(random));
            let mut told: Vec<BreakerTransition> = Vec::new();
            let mut expected: Vec<(BreakerState, BreakerState)> = Vec::new();
            match step {
                Step::Wait { nanos } => now += nanos,
                Step::Back { nanos } => now = now.saturating_sub(nanos),
                Step::ToTheEdge { beyond } => now = naive.edge().map_or(now, |edge| edge + beyond),
                Step::Look => {
                    let (look, moves) = machine.look(stamp, jitter);
                    told.extend(moves);
                    expected.extend(naive.find_hung(now, told.first(), random));
                    let (name, retry_after) = match look {
                        Look::Pass => ("pass", None),
                        Look::HalfOpen => ("half-open", None),
                        Look::Open(rejected) => ("open", Some(rejected.retry_after)),
                    };
                    prop_assert_eq!(name, naive.look(now));
                    if let Some(retry_after) = retry_after {
                        prop_assert_eq!(retry_after, naive.retry_after(now));
                    }
                }
                Step::Take { expires_after } => {
                    let (ticket, moves) = machine.ticket(stamp, jitter, Duration::from_nanos(expires_after));
                    told.extend(moves);
                    expected.extend(naive.find_hung(now, told.first(), random));
                    if naive.look(now) == "half-open" && naive.state() == BreakerState::Open {
                        expected.push(naive.enter(BreakerState::HalfOpen));
                    }
                    match (ticket, naive.take(now + expires_after)) {
                        (Ok(ticket), Some(model)) => held.push((ticket, model)),
                        (Err(rejected), None) => prop_assert_eq!(rejected.retry_after, naive.retry_after(now)),
                        (ticket, model) => prop_assert!(false, "{:?}, not {:?}", ticket, model),
                    }
                }
                Step::Report { which, seen } => {
                    if held.is_empty() { continue }
                    // Some are kept, and report twice.
                    let at = which.index(held.len());
                    let (ticket, model) = if random % 8 == 0 { held[at] } else { held.swap_remove(at) };
                    told.extend(machine.report(stamp, jitter, ticket, seen));
                    expected.extend(naive.report(now, model, seen, told.first(), random));
                }
                Step::GiveBack { which } => {
                    if held.is_empty() { continue }
                    let (ticket, model) = held.swap_remove(which.index(held.len()));
                    machine.give_back(stamp, ticket);
                    naive.give_back(now, model);
                }
                Step::ForceOpen => {
                    told.extend(machine.force_open());
                    expected.extend(naive.by_hand(BreakerState::ForcedOpen));
                }
                Step::Disable => {
                    told.extend(machine.disable());
                    expected.extend(naive.by_hand(BreakerState::Disabled));
                }
                Step::Reset => {
                    told.extend(machine.reset());
                    expected.extend(naive.by_hand(BreakerState::Closed));
                }
            }
            prop_assert!(told.iter().all(has_its_cause), "{:?}", told);
            prop_assert_eq!(names(told), expected);
            prop_assert_eq!((machine.state(), machine.era()), (naive.state(), naive.era()));
            let totals = machine.totals(Stamp(now));
            prop_assert_eq!([totals.calls, totals.failures, totals.slow], naive.totals(now).map(|sum| sum as u64));
            let until = naive.edge().filter(|_| naive.state() == BreakerState::Open);
            prop_assert_eq!(machine.open_until(), until.map(Stamp));
        }
    }
}
