//! The cell under loom: every interleaving of two or three threads.
//!
//! It is run and bounded like the models of the gate. No model waits: a breaker that opened at [`LONG_AGO`] has
//! cooled down whenever somebody looks, and one that opened at [`LATELY`] has not for half an hour. So the clock,
//! which needs no runtime and which loom does not know, never decides between two ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use loom::thread;

use super::super::settings::BreakerPolicy;
use super::super::transition::BreakerCause;
use super::*;
use crate::admission::{Gate, Saturation, Watcher};
use crate::policy::Policy;

const PREEMPTIONS_OF_THREE: usize = 3;
const LONG_AGO: Stamp = Stamp(1);
/// When the process began, to within the time of a model.
const LATELY: Stamp = Stamp(3_600_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
const SUCCESS: Seen = Seen::Success { slow: false };
const FAILURE: Seen = Seen::Failure { slow: false };

/// So many successes told in one slice let one be told later.
const FOR_A_GRANT: u32 = 256;

/// One failure opens it; so many probes close it.
fn touchy(probes: u32) -> BreakerPolicy {
    patient(probes).with_consecutive(1)
}

/// No failure here opens it.
fn patient(probes: u32) -> BreakerPolicy {
    BreakerPolicy::new()
        .with_min_calls(1_000)
        .with_window(HOUR)
        .with_open_for(HOUR / 2)
        .with_probes(probes)
}

fn explore(policy: BreakerPolicy, model: impl Fn(Arc<BreakerCell>) + Sync + Send + 'static) {
    explore_bounded(None, policy, model);
}

fn explore_bounded(
    preemptions: Option<usize>,
    policy: BreakerPolicy,
    model: impl Fn(Arc<BreakerCell>) + Sync + Send + 'static,
) {
    let explored = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let counter = Arc::clone(&explored);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        model(Arc::new(BreakerCell::new(policy.demanded())));
    });
    let explored = explored.load(Ordering::Relaxed);
    println!("{explored} interleavings");
    assert!(explored > 1, "loom explored nothing");
}

/// Makes a closed breaker calm: so many successes may be counted in the word.
fn grant(cell: &BreakerCell, grants: u32) {
    cell.change(LATELY, |machine| {
        let ticket = Ticket::ordinary(machine.era());
        for _ in 0..grants * FOR_A_GRANT {
            assert_eq!(machine.report(LATELY, Jitter(0), ticket, SUCCESS), None);
        }
    });
    assert_eq!(cell.word().left().map(|(_, left)| left), Some(grants));
}

/// A breaker that is [`touchy`] opens; where it opened at [`LONG_AGO`], its cool-down is over.
fn trip(cell: &BreakerCell, since: Stamp) {
    let opened = enter(cell).and_then(|watch| watch.saw(since, FAILURE));
    assert_eq!(opened.map(|opened| opened.to), Some(BreakerState::Open));
}

fn enter(cell: &BreakerCell) -> Option<Watch<'_>> {
    cell.enter(HOUR).0.ok()
}

/// As a call tells it that looked at no clock; whether that was enough.
fn succeed(mut watch: Watch<'_>) -> bool {
    let at_once = watch.succeeded_at_once();
    if !at_once {
        assert_eq!(watch.saw(LATELY, SUCCESS), None);
    }
    at_once
}

fn calls(cell: &BreakerCell) -> (u64, u64) {
    let (_, totals) = cell.snapshot();
    (totals.calls, totals.failures)
}

/// Nobody is under way: the word says what the machine says, but for the successes that it has counted itself;
/// and once those are settled, nothing else.
#[track_caller]
fn assert_agrees(cell: &BreakerCell) -> BreakerState {
    let (word, copy) = (cell.word(), Word::of(&cell.machine.lock(), LATELY));
    match (word.left(), copy.left()) {
        (Some((era, left)), Some((machines, granted))) => {
            assert!(era == machines && left <= granted, "{word:?}, not {copy:?}");
        }
        _ => assert_eq!(word, copy),
    }
    let (state, _) = cell.snapshot();
    assert_eq!(
        cell.word(),
        Word::of(&cell.machine.lock(), Stamp::now()),
        "settled"
    );
    state
}

/// What is left of a call that another thread ends.
fn ticket(cell: &BreakerCell) -> Ticket {
    let ticket = enter(cell).and_then(|mut watch| watch.ticket.take());
    ticket.expect("it passes")
}

#[test]
fn a_success_beside_a_failure_is_counted_once() {
    for grants in [1, 2] {
        explore(patient(1), move |cell| {
            grant(&cell, grants);
            let before = u64::from(grants * FOR_A_GRANT);
            let other = thread::spawn({
                let cell = Arc::clone(&cell);
                move || enter(&cell).map(succeed)
            });
            let fails = enter(&cell).and_then(|watch| watch.saw(LATELY, FAILURE));
            assert_eq!(fails, None);
            assert!(!cell.is_calm(), "a call has just failed");
            assert!(other.join().unwrap().is_some(), "it is closed");
            assert_eq!(calls(&cell), (before + 2, 1));
            assert_eq!(assert_agrees(&cell), BreakerState::Closed);
        });
    }
}

#[test]
fn two_successes_beside_a_look_are_counted_once_each() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), patient(1), |cell| {
        grant(&cell, 1);
        let before = u64::from(FOR_A_GRANT);
        let callers = [(); 2].map(|()| {
            let cell = Arc::clone(&cell);
            thread::spawn(move || enter(&cell).map(succeed))
        });
        let (seen, _) = calls(&cell);
        assert!((before..=before + 2).contains(&seen), "{seen}");
        let at_once = callers
            .map(|caller| caller.join().unwrap().expect("it is closed"))
            .into_iter()
            .filter(|at_once| *at_once)
            .count();
        // The look settles, and the one that was told may have been granted for.
        assert!((1..=2).contains(&at_once), "{at_once}");
        assert_eq!(calls(&cell), (before + 2, 0));
        assert_agrees(&cell);
    });
}

#[test]
fn the_last_success_that_may_be_counted_beside_the_lock_is_had_by_one() {
    explore(patient(1), |cell| {
        grant(&cell, 1);
        let other = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.succeed(0)
        });
        let own = cell.succeed(0);
        assert!(own != other.join().unwrap(), "one was granted");
        assert_eq!(calls(&cell), (u64::from(FOR_A_GRANT) + 1, 0));
        assert_agrees(&cell);
    });
}

#[test]
fn a_success_of_an_era_that_a_hand_ends_is_never_counted_in_the_next() {
    explore(patient(1), |cell| {
        grant(&cell, 1);
        let late = thread::spawn({
            let cell = Arc::clone(&cell);
            move || enter(&cell).map(|watch| (watch.ticket.map(Ticket::era), succeed(watch)))
        });
        assert_eq!(cell.reset(), None);
        grant(&cell, 1);
        let (era, _) = late.join().unwrap().expect("it is closed in both eras");
        let of_the_next = u64::from(era == Some(1));
        assert_eq!(calls(&cell), (u64::from(FOR_A_GRANT) + of_the_next, 0));
        assert_agrees(&cell);
    });
}

#[test]
fn a_success_that_began_before_it_tripped_is_never_counted_after_it_has_come_back() {
    explore(touchy(1), |cell| {
        grant(&cell, 1);
        let late = thread::spawn({
            let cell = Arc::clone(&cell);
            let ticket = ticket(&cell);
            move || succeed(cell.watch(ticket))
        });
        trip(&cell, LONG_AGO);
        let closed = enter(&cell).and_then(|probe| probe.saw(LATELY, SUCCESS));
        assert_eq!(
            closed.map(|closed| closed.cause),
            Some(BreakerCause::ProbesSucceeded)
        );
        grant(&cell, 1);
        late.join().unwrap();
        assert_eq!(calls(&cell), (u64::from(FOR_A_GRANT), 0));
        assert_agrees(&cell);
    });
}

#[test]
fn of_two_callers_after_the_cool_down_one_is_the_probe() {
    explore(touchy(1), |cell| {
        trip(&cell, LONG_AGO);
        let half_opened = Arc::new(AtomicU32::new(0));
        let arrive = |cell: &BreakerCell, half_opened: &AtomicU32| {
            let (result, moves) = cell.enter(HOUR);
            let moves = u32::try_from(moves.into_iter().count()).expect("two at most");
            half_opened.fetch_add(moves, Ordering::Relaxed);
            result
                .ok()
                .inspect(|watch| assert!(watch.is_probe()))
                .map(std::mem::forget)
        };
        let other = thread::spawn({
            let (cell, half_opened) = (Arc::clone(&cell), Arc::clone(&half_opened));
            move || arrive(&cell, &half_opened).is_some()
        });
        let own = arrive(&cell, &half_opened).is_some();
        assert!(own != other.join().unwrap(), "there is one place");
        assert_eq!(half_opened.load(Ordering::Relaxed), 1, "told once");
        assert_eq!(assert_agrees(&cell), BreakerState::HalfOpen);
    });
}

#[test]
fn of_three_callers_two_are_the_probes() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), touchy(2), |cell| {
        trip(&cell, LONG_AGO);
        let others = [(); 2].map(|()| {
            let cell = Arc::clone(&cell);
            thread::spawn(move || enter(&cell).map(std::mem::forget).is_some())
        });
        let own = enter(&cell).map(std::mem::forget).is_some();
        let passed = others.map(|other| other.join().unwrap());
        let passed = passed.into_iter().chain([own]).filter(|passed| *passed);
        assert_eq!(passed.count(), 2);
        assert_eq!(assert_agrees(&cell), BreakerState::HalfOpen);
    });
}

#[test]
fn a_place_that_a_dropped_probe_gives_back_is_had_by_the_next_and_by_nobody_before() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), touchy(1), |cell| {
        trip(&cell, LONG_AGO);
        let out = Arc::new(AtomicU32::new(0));
        let call = |cell: Arc<BreakerCell>, out: Arc<AtomicU32>| {
            move || {
                let probe = enter(&cell);
                if probe.is_some() {
                    assert_eq!(out.fetch_add(1, Ordering::Relaxed), 0, "one too many");
                    thread::yield_now();
                    out.fetch_sub(1, Ordering::Relaxed);
                }
                probe.is_some()
            }
        };
        let threads = [(); 2].map(|()| thread::spawn(call(Arc::clone(&cell), Arc::clone(&out))));
        let passed = threads.map(|thread| thread.join().unwrap());
        assert!(passed.contains(&true), "the first finds the place");
        assert_eq!(assert_agrees(&cell), BreakerState::HalfOpen);
        assert!(enter(&cell).is_some(), "the place was lost");
    });
}

#[test]
fn a_newcomer_that_sees_no_place_while_one_is_given_back_finds_it_afterwards() {
    explore(touchy(1), |cell| {
        trip(&cell, LONG_AGO);
        let probe = ticket(&cell);
        let leaves = thread::spawn({
            let cell = Arc::clone(&cell);
            move || drop(cell.watch(probe))
        });
        let newcomer = enter(&cell);
        leaves.join().unwrap();
        let second = enter(&cell);
        assert!(
            newcomer.is_some() != second.is_some(),
            "one of them has the place"
        );
        drop((newcomer, second));
        assert_agrees(&cell);
    });
}

#[test]
fn the_last_two_probes_close_it_once() {
    explore(touchy(2), |cell| {
        trip(&cell, LONG_AGO);
        let [one, other] = [(); 2].map(|()| ticket(&cell));
        let reports =
            |cell: &BreakerCell, ticket| cell.watch(ticket).saw(LATELY, SUCCESS).is_some();
        let thread = thread::spawn({
            let cell = Arc::clone(&cell);
            move || reports(&cell, one)
        });
        let own = reports(&cell, other);
        assert!(own != thread.join().unwrap(), "the second closes it");
        assert_eq!(assert_agrees(&cell), BreakerState::Closed);
    });
}

#[test]
fn a_probe_that_fails_beside_one_that_works_opens_it_once() {
    explore(touchy(2), |cell| {
        trip(&cell, LONG_AGO);
        let [works, fails] = [(); 2].map(|()| ticket(&cell));
        let thread = thread::spawn({
            let cell = Arc::clone(&cell);
            move || cell.watch(works).saw(LATELY, SUCCESS)
        });
        let opened = cell.watch(fails).saw(LATELY, FAILURE);
        assert_eq!(
            opened.map(|opened| opened.cause),
            Some(BreakerCause::ProbeFailed)
        );
        assert_eq!(thread.join().unwrap(), None);
        assert_eq!(assert_agrees(&cell), BreakerState::Open);
    });
}

#[test]
fn two_failures_at_once_open_it_once_and_nobody_passes_who_has_seen_it_open() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), touchy(1), |cell| {
        grant(&cell, 1);
        let call = |cell: Arc<BreakerCell>| {
            move || {
                let watch = enter(&cell);
                let has_seen_it_open = matches!(cell.look().0, Look::Open(_));
                let overtakes = has_seen_it_open && enter(&cell).is_some();
                assert!(!overtakes, "it passes a breaker that it has seen open");
                let opened = watch.and_then(|watch| watch.saw(LATELY, FAILURE));
                assert!(
                    !has_seen_it_open || opened.is_none(),
                    "a ticket of an era that is over"
                );
                assert!(enter(&cell).is_none(), "it failed, or was rejected");
                opened.is_some()
            }
        };
        let threads = [(); 2].map(|()| thread::spawn(call(Arc::clone(&cell))));
        let opened = threads.map(|thread| thread.join().unwrap());
        assert!(opened[0] != opened[1], "{opened:?}");
        assert_eq!(assert_agrees(&cell), BreakerState::Open);
        assert_eq!(cell.machine.lock().era(), 1, "one move");
    });
}

#[test]
fn a_hand_and_a_failure_at_once_end_with_what_the_hand_said() {
    for hand in [
        BreakerCell::force_open,
        BreakerCell::disable,
        BreakerCell::reset,
    ] {
        explore(touchy(1), move |cell| {
            grant(&cell, 1);
            let failed = thread::spawn({
                let cell = Arc::clone(&cell);
                let ticket = ticket(&cell);
                move || cell.watch(ticket).saw(LATELY, FAILURE).is_some()
            });
            let moved = hand(&cell);
            let tripped = failed.join().unwrap();
            let state = assert_agrees(&cell);
            let says = match moved {
                Some(moved) => moved.to,
                // There was nothing to undo.
                None => BreakerState::Closed,
            };
            assert_eq!(state, says);
            assert_eq!(calls(&cell), (0, 0), "it has forgotten everything");
            let eras = 1 + u64::from(tripped);
            assert_eq!(cell.machine.lock().era(), eras, "each told its own move");
        });
    }
}

#[test]
fn a_success_beside_a_hand_that_opens_and_resets_is_never_counted_afterwards() {
    explore(patient(1), |cell| {
        grant(&cell, 1);
        let late = thread::spawn({
            let cell = Arc::clone(&cell);
            let ticket = ticket(&cell);
            move || succeed(cell.watch(ticket))
        });
        assert!(cell.force_open().is_some(), "a move");
        assert!(enter(&cell).is_none(), "forced open");
        assert!(cell.reset().is_some(), "a move");
        assert_eq!(calls(&cell), (0, 0));
        late.join().unwrap();
        assert_eq!(calls(&cell), (0, 0));
        assert_eq!(assert_agrees(&cell), BreakerState::Closed);
    });
}

/// The word has no ordering of its own; what a permit carries from one call to the next is enough.
#[test]
fn who_is_admitted_on_the_permit_of_a_call_that_has_failed_meets_a_breaker_that_knows() {
    explore(touchy(1), |cell| {
        let gate = Arc::new(Gate::new(Policy::new(1), &Nobody));
        let failed = Arc::new(AtomicBool::new(false));
        let fails = thread::spawn({
            let (cell, gate, failed) = (Arc::clone(&cell), Arc::clone(&gate), Arc::clone(&failed));
            move || {
                let Ok(flight) = gate.try_enter() else {
                    return false;
                };
                let opened = enter(&cell).and_then(|watch| watch.saw(LATELY, FAILURE));
                failed.store(true, Ordering::Relaxed);
                drop(flight);
                opened.is_some()
            }
        });
        if let Ok(flight) = gate.try_enter() {
            // Set by a call that had the permit, and there is one.
            let has_failed = failed.load(Ordering::Relaxed);
            assert!(enter(&cell).is_none() || !has_failed, "a call too many");
            drop(flight);
        }
        let state = if fails.join().unwrap() {
            BreakerState::Open
        } else {
            BreakerState::Closed
        };
        assert_eq!(assert_agrees(&cell), state);
    });
}

struct Nobody;

impl Watcher for Nobody {
    fn saturation(&'static self, _: Saturation) {}
    fn emptied(&'static self) {}
}
