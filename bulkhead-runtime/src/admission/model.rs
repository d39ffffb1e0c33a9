//! The gate under loom: every interleaving of two or three threads.
//!
//! With two threads the exploration is complete; with three it is bounded to three preemptions, as the
//! authors of loom advise, since more of them find next to nothing and take hours.
//!
//! Run with `RUSTFLAGS="--cfg bulkhead_loom" cargo test -p bulkhead-runtime --lib --release model`.
//! A model that explored a single interleaving fails: then loom did not stand in for the atomics.
//!
//! What a body or a caller sees is counted in plain std atomics: loom switches threads only at its
//! own, so these add no interleavings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use loom::thread;

use super::gate::{Arrived, Gate, Leaving, Over, Saturation, Turn, Watcher};
use super::rejection::Rejection;
use super::terms::Watch;
use super::waitlist::{Bound, Operation, SlotIndex, Standing};
use crate::mode::Mode;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::time::{self, Instant};

const PREEMPTIONS_OF_THREE: usize = 3;

/// Explores a model of two threads completely.
fn explore(max: u32, queue: u32, model: impl Fn(Arc<Gate>) + Sync + Send + 'static) {
    explore_bounded(None, max, queue, model);
}

fn explore_bounded(
    preemptions: Option<usize>,
    max: u32,
    queue: u32,
    model: impl Fn(Arc<Gate>) + Sync + Send + 'static,
) {
    explore_told(preemptions, max, queue, move |gate, _| model(gate));
}

/// The same for a gate that is watched, once somebody says so.
fn explore_told(
    preemptions: Option<usize>,
    max: u32,
    queue: u32,
    model: impl Fn(Arc<Gate>, &'static Told) + Sync + Send + 'static,
) {
    let explored = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let counter = Arc::clone(&explored);
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let told: &'static Told = Box::leak(Box::default());
        model(Arc::new(Gate::new(policy(max, queue), told)), told);
    });
    let explored = explored.load(Ordering::Relaxed);
    println!("{explored} interleavings");
    assert!(explored > 1, "loom explored nothing");
}

fn policy(max: u32, queue: u32) -> Policy {
    if queue == 0 {
        Policy::new(max)
    } else {
        Policy::new(max).with_queue(queue, Duration::from_secs(1))
    }
}

fn in_time() -> Instant {
    time::now() + Duration::from_secs(3_600)
}

fn long_over() -> Instant {
    time::now() - Duration::from_secs(1)
}

/// The episodes that somebody was told of, one bit each.
#[derive(Default)]
struct Told {
    began: AtomicU64,
    ended: AtomicU64,
    /// How often it was told that a closed gate is empty.
    emptied: AtomicU64,
}

impl Watcher for Told {
    fn saturation(&'static self, saturation: Saturation) {
        let (told, episode) = match saturation {
            Saturation::Began { episode } => (&self.began, episode),
            Saturation::Ended { episode, .. } => (&self.ended, episode),
        };
        let before = told.fetch_or(1 << episode, Ordering::Relaxed);
        assert_eq!(before & 1 << episode, 0, "told twice");
    }

    fn emptied(&'static self) {
        self.emptied.fetch_add(1, Ordering::Relaxed);
    }
}

impl Told {
    /// When nothing moves: all that began has ended, but for the last one while the gate is saturated.
    #[track_caller]
    fn agrees(&self, gate: &Gate, is_saturated: bool) {
        let [began, ended] = [&self.began, &self.ended].map(|told| told.load(Ordering::Relaxed));
        let open = gate.episode().map_or(0, |episode| 1 << episode);
        assert_eq!(open != 0, is_saturated, "{:?}", gate.tally());
        assert_eq!(began, ended | open, "{:?}", gate.tally());
        assert!(
            open == 0 || open > ended,
            "the last one is the one that is open"
        );
    }
}

fn watch(gate: &Gate, watch: Watch) {
    gate.watch(watch);
    gate.hand_over();
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn waker() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Self::default());
        (Arc::clone(&woken), woken.into())
    }

    fn is_woken(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// A newcomer that would wait.
fn come<'g>(gate: &'g Gate, waker: &Waker, until: Instant) -> Arrived<'g> {
    come_as(gate, Standing::Outside, waker, until)
}

fn come_as<'g>(gate: &'g Gate, standing: Standing, waker: &Waker, until: Instant) -> Arrived<'g> {
    let operation = Operation::default();
    gate.join(waker, time::now(), until, Bound::Wait, operation, standing)
}

/// Joins the queue of a gate that is full.
fn join(gate: &Gate, waker: &Waker, until: Instant) -> SlotIndex {
    match come(gate, waker, until) {
        Arrived::Queued { slot, .. } => slot,
        _ => panic!("the gate is full, and the queue has a place"),
    }
}

/// Ends with a success, as a body does that returns.
fn release(gate: &Gate) {
    let mut flight = gate_flight(gate);
    flight.means(Outcome::Success);
    drop(flight);
}

/// The flight of a permit that was taken in the set-up.
fn gate_flight(gate: &Gate) -> super::Flight<'_> {
    super::Flight::begin_at(gate, None)
}

fn set(gate: &Gate, mode: Mode) {
    gate.change(|terms| terms.mode = mode);
    gate.hand_over();
}

fn set_queue(gate: &Gate, queue: u32) {
    gate.change(|terms| terms.queue = queue);
    gate.hand_over();
}

/// Takes a permit whose flight [`release`] ends later, on another thread.
fn take(gate: &Gate) {
    std::mem::forget(gate.try_enter().expect("there is room"));
}

#[track_caller]
fn assert_claims(gate: &Gate, slot: SlotIndex) {
    match gate.look(slot, Bound::Wait, in_time(), Waker::noop()) {
        Turn::Admitted(flight, _) => drop(flight),
        Turn::Waiting => panic!("it waits for ever: nothing is in flight and nobody will wake it"),
        Turn::Over(_) => panic!("its time is not up"),
    }
}

/// Every permit is there, and not one more.
#[track_caller]
fn assert_admits(gate: &Gate, max: usize) {
    assert_empty(gate);
    let flights: Vec<_> = (0..max).map(|_| gate.try_enter()).collect();
    assert!(flights.iter().all(Result::is_ok), "a permit was lost");
    assert!(gate.try_enter().is_err(), "one too many");
}

/// Whether the queue of a gate without room is full, as those see it that look without the lock and
/// as those do that take it.
#[track_caller]
fn assert_queue_is_full(gate: &Gate, is_full: bool) {
    assert_eq!(
        gate.reject_at_once().is_some(),
        is_full,
        "the flag says otherwise"
    );
    match come(gate, Waker::noop(), in_time()) {
        Arrived::Queued { slot, .. } => {
            assert!(!is_full, "it joins a full queue");
            gate.leave_queue(slot, Leaving::Abandoned);
        }
        Arrived::AtOnce(Err(Rejection::Full(_))) => assert!(is_full, "a place is left"),
        Arrived::AtOnce(_) => panic!("there is no room"),
    }
}

#[track_caller]
fn assert_empty(gate: &Gate) {
    let tally = gate.tally();
    assert_eq!(
        (tally.in_flight, tally.granted, tally.waiting),
        (0, 0, 0),
        "{tally:?}"
    );
}

#[test]
fn never_more_inside_than_permits() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 0, |gate| {
        let inside = Arc::new(AtomicUsize::new(0));
        let call = |gate: Arc<Gate>, inside: Arc<AtomicUsize>| {
            move || {
                let Ok(mut flight) = gate.try_enter() else {
                    return 0;
                };
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "one too many");
                thread::yield_now();
                inside.fetch_sub(1, Ordering::Relaxed);
                flight.means(Outcome::Success);
                1
            }
        };
        let threads = [(); 2].map(|()| thread::spawn(call(Arc::clone(&gate), Arc::clone(&inside))));
        let admitted: u64 = threads.map(|thread| thread.join().unwrap()).iter().sum();
        let tally = gate.tally();
        assert_eq!(
            (tally.outcomes.success, tally.full),
            (admitted, 2 - admitted)
        );
        assert!(admitted > 0, "the first always finds room");
        assert_empty(&gate);
    });
}

#[test]
fn a_head_that_is_cancelled_while_it_is_handed_the_permit_passes_it_on() {
    leaves_during_hand_off(Leaving::Abandoned);
}

#[test]
fn a_head_that_times_out_while_it_is_handed_the_permit_passes_it_on() {
    leaves_during_hand_off(Leaving::Late(Bound::Wait));
}

fn leaves_during_hand_off(leaving: Leaving) {
    explore(1, 2, move |gate| {
        take(&gate);
        let (second_woken, second_waker) = Woken::waker();
        let head = join(&gate, Waker::noop(), in_time());
        let second = join(&gate, &second_waker, in_time());
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        gate.leave_queue(head, leaving);
        releaser.join().unwrap();
        assert!(second_woken.is_woken());
        assert_claims(&gate, second);
        let tally = gate.tally();
        assert_eq!(tally.abandoned + tally.wait_timeout, 1);
        assert_empty(&gate);
    });
}

#[test]
fn a_grant_is_claimed_or_taken_back_but_not_both() {
    explore(1, 1, |gate| {
        take(&gate);
        let slot = join(&gate, Waker::noop(), long_over());
        release(&gate);
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().is_ok()
        });
        let turn = gate.look(slot, Bound::Wait, long_over(), Waker::noop());
        assert!(
            matches!(turn, Turn::Over(Over::Late(_))),
            "its time is up, whoever comes first"
        );
        let admitted = newcomer.join().unwrap();
        let tally = gate.tally();
        assert_eq!(tally.wait_timeout, 1, "counted once");
        assert_eq!(
            (tally.outcomes.cancelled, tally.full),
            (u64::from(admitted), u64::from(!admitted))
        );
        assert!(
            admitted,
            "what the late one held was free, or was taken back"
        );
        assert_empty(&gate);
    });
}

#[test]
fn a_grant_that_is_in_time_is_never_taken_back() {
    explore(1, 1, |gate| {
        take(&gate);
        let slot = join(&gate, Waker::noop(), in_time());
        release(&gate);
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().is_ok()
        });
        let Turn::Admitted(flight, _) = gate.look(slot, Bound::Wait, in_time(), Waker::noop())
        else {
            panic!("granted before, and in time")
        };
        assert!(!newcomer.join().unwrap(), "it is in flight all the while");
        drop(flight);
        assert_empty(&gate);
    });
}

#[test]
fn closing_leaves_nobody_in_the_queue() {
    explore(1, 1, |gate| {
        take(&gate);
        let (woken, waker) = Woken::waker();
        let closer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || assert!(gate.close(), "it was open")
        });
        match come(&gate, &waker, in_time()) {
            Arrived::Queued { slot, .. } => {
                closer.join().unwrap();
                assert!(woken.is_woken());
                assert!(matches!(
                    gate.look(slot, Bound::Wait, in_time(), &waker),
                    Turn::Over(Over::Closed(_))
                ));
            }
            Arrived::AtOnce(Err(Rejection::Closed(_))) => closer.join().unwrap(),
            Arrived::AtOnce(_) => panic!("no room, but a place in the queue"),
        }
        let tally = gate.tally();
        assert_eq!((tally.waiting, tally.closed, tally.full), (0, 1, 0));
        release(&gate);
        assert!(matches!(gate.try_enter(), Err(Rejection::Closed(_))));
        assert_empty(&gate);
    });
}

#[test]
fn two_releases_serve_two_waiters() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 2, 2, |gate| {
        take(&gate);
        take(&gate);
        let ((first_woken, first_waker), (second_woken, second_waker)) =
            (Woken::waker(), Woken::waker());
        let first = join(&gate, &first_waker, in_time());
        let second = join(&gate, &second_waker, in_time());
        let threads = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || release(&gate))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(first_woken.is_woken() && second_woken.is_woken());
        assert_eq!(gate.tally().granted, 2);
        assert_claims(&gate, first);
        assert_claims(&gate, second);
        assert_empty(&gate);
    });
}

#[test]
fn a_woken_waiter_that_is_dropped_wakes_the_next() {
    explore(1, 2, |gate| {
        take(&gate);
        let head = join(&gate, Waker::noop(), in_time());
        let ((_, old), (woken, new)) = (Woken::waker(), Woken::waker());
        let second = join(&gate, &old, in_time());
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                release(&gate);
                gate.leave_queue(head, Leaving::Abandoned);
            }
        });
        let claimed = match gate.look(second, Bound::Wait, in_time(), &new) {
            Turn::Admitted(flight, _) => {
                drop(flight);
                true
            }
            Turn::Waiting => false,
            Turn::Over(_) => panic!("its time is not up"),
        };
        releaser.join().unwrap();
        if !claimed {
            assert!(woken.is_woken(), "by the waker that it left last");
            assert_claims(&gate, second);
        }
        assert_empty(&gate);
    });
}

#[test]
fn nobody_is_rejected_after_a_release_has_made_room() {
    explore(1, 1, |gate| {
        take(&gate);
        let waiting = join(&gate, Waker::noop(), in_time());
        let released = Arc::new(AtomicBool::new(false));
        let releaser = thread::spawn({
            let (gate, released) = (Arc::clone(&gate), Arc::clone(&released));
            move || {
                release(&gate);
                released.store(true, Ordering::Relaxed);
            }
        });
        let had_been_released = released.load(Ordering::Relaxed);
        let newcomer = match come(&gate, Waker::noop(), in_time()) {
            Arrived::Queued { slot, .. } => Some(slot),
            Arrived::AtOnce(Err(Rejection::Full(load))) => {
                assert!(!had_been_released, "the place of the waiter was free");
                assert_eq!(
                    (load.in_flight, load.waiting),
                    (1, 1),
                    "full when it was decided"
                );
                None
            }
            Arrived::AtOnce(_) => panic!("the room is the waiter's"),
        };
        releaser.join().unwrap();
        assert_claims(&gate, waiting);
        if let Some(slot) = newcomer {
            assert_claims(&gate, slot);
        }
        assert_empty(&gate);
    });
}

#[test]
fn a_newcomer_that_finds_neither_room_nor_a_waiter_joins_and_is_woken() {
    explore(1, 1, |gate| {
        take(&gate);
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        let (woken, waker) = Woken::waker();
        match come(&gate, &waker, in_time()) {
            Arrived::AtOnce(Ok(flight)) => {
                drop(flight);
                releaser.join().unwrap();
            }
            Arrived::Queued { slot, .. } => {
                releaser.join().unwrap();
                assert!(woken.is_woken(), "a waiter that the release did not see");
                assert_claims(&gate, slot);
            }
            Arrived::AtOnce(Err(_)) => panic!("there is a place in the queue"),
        }
        assert_empty(&gate);
    });
}

#[test]
fn growing_and_releasing_at_once_serves_the_waiters() {
    explore(1, 2, |gate| {
        take(&gate);
        let first = join(&gate, Waker::noop(), in_time());
        let second = join(&gate, Waker::noop(), in_time());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                gate.change(|terms| terms.max = 2);
                gate.hand_over();
            }
        });
        release(&gate);
        operator.join().unwrap();
        assert_eq!(
            gate.tally().granted,
            2,
            "one on the release, one on the new permit"
        );
        assert_claims(&gate, first);
        assert_claims(&gate, second);
        assert_empty(&gate);
    });
}

#[test]
fn nobody_is_admitted_by_the_old_number_after_a_shrink_has_returned() {
    explore(2, 0, |gate| {
        take(&gate);
        let shrunk = Arc::new(AtomicBool::new(false));
        let operator = thread::spawn({
            let (gate, shrunk) = (Arc::clone(&gate), Arc::clone(&shrunk));
            move || {
                gate.change(|terms| terms.max = 1);
                shrunk.store(true, Ordering::Relaxed);
            }
        });
        let result = gate.try_enter();
        if result.is_ok() {
            // Loom switches threads at its own operations only, so nothing came between the
            // admission and this look.
            assert!(!shrunk.load(Ordering::Relaxed), "one too many");
        }
        drop(result);
        operator.join().unwrap();
        assert!(gate.try_enter().is_err());
        release(&gate);
        assert_empty(&gate);
    });
}

#[test]
fn successes_carried_over_by_two_releases_at_once_are_counted_once() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 2, 0, |gate| {
        let before = gate.preset_successes_to_the_brink();
        take(&gate);
        take(&gate);
        let threads = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || release(&gate))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(gate.tally().outcomes.success, before + 2);
        assert_empty(&gate);
    });
}

#[test]
fn a_release_a_newcomer_and_a_cancelled_head_at_once_strand_nobody() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 2, |gate| {
        take(&gate);
        let head = join(&gate, Waker::noop(), in_time());
        let (second_woken, second_waker) = Woken::waker();
        let second = join(&gate, &second_waker, in_time());
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().is_err()
        });
        gate.leave_queue(head, Leaving::Abandoned);
        releaser.join().unwrap();
        assert!(newcomer.join().unwrap(), "it never overtakes the second");
        assert!(second_woken.is_woken());
        assert_claims(&gate, second);
        let tally = gate.tally();
        assert_eq!((tally.abandoned, tally.full), (1, 1));
        assert_empty(&gate);
    });
}

#[test]
fn two_newcomers_and_a_release_at_once_admit_each_other_in_turn() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 2, |gate| {
        take(&gate);
        let newcomers = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                let (woken, waker) = Woken::waker();
                match come(&gate, &waker, in_time()) {
                    Arrived::Queued { slot, .. } => Some((slot, woken)),
                    Arrived::AtOnce(Ok(flight)) => {
                        drop(flight);
                        None
                    }
                    Arrived::AtOnce(Err(_)) => panic!("two places for two newcomers"),
                }
            })
        });
        release(&gate);
        for slot in newcomers
            .map(|newcomer| newcomer.join().unwrap())
            .into_iter()
            .flatten()
        {
            // Whoever was first in the queue has been woken; the claim of one wakes the other.
            assert!(slot.1.is_woken() || gate.tally().granted > 0);
        }
        gate.close();
        let tally = gate.tally();
        assert_eq!(tally.waiting, 0);
        assert!(tally.granted <= 1 && tally.in_flight == 0, "{tally:?}");
    });
}

#[test]
fn off_and_back_while_a_call_passes_loses_no_permit() {
    for held in [0, 1] {
        explore(2, 0, move |gate| {
            (0..held).for_each(|_| take(&gate));
            let operator = thread::spawn({
                let gate = Arc::clone(&gate);
                move || {
                    set(&gate, Mode::Off);
                    set(&gate, Mode::Enforce);
                }
            });
            let mut flight = gate.try_enter().expect("there is room in every mode");
            flight.means(Outcome::Success);
            drop(flight);
            operator.join().unwrap();
            let tally = gate.tally();
            assert_eq!((tally.in_flight, tally.full), (held, 0));
            assert!(tally.outcomes.success <= 1, "{tally:?}");
            (0..held).for_each(|_| release(&gate));
            assert_admits(&gate, 2);
        });
    }
}

#[test]
fn off_and_back_while_a_call_comes_to_a_full_gate_counts_it_or_lets_it_in() {
    explore(1, 0, |gate| {
        take(&gate);
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                set(&gate, Mode::Off);
                set(&gate, Mode::Enforce);
            }
        });
        let let_in = gate.try_enter().is_ok();
        operator.join().unwrap();
        let tally = gate.tally();
        assert_eq!((tally.in_flight, tally.full), (1, u64::from(!let_in)));
        assert!(tally.outcomes.cancelled <= u64::from(let_in), "{tally:?}");
        assert_eq!(tally.would_reject, 0, "nobody observed");
        release(&gate);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_waiter_is_served_once_when_observing_begins_during_a_release() {
    explore(1, 1, |gate| {
        take(&gate);
        let (woken, waker) = Woken::waker();
        let slot = join(&gate, &waker, in_time());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || set(&gate, Mode::Observe)
        });
        release(&gate);
        operator.join().unwrap();
        assert!(woken.is_woken());
        let tally = gate.tally();
        assert_eq!((tally.in_flight, tally.granted), (0, 1));
        assert_eq!((tally.outcomes.success, tally.would_reject), (1, 0));
        assert_claims(&gate, slot);
        set(&gate, Mode::Enforce);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_release_a_newcomer_and_observing_at_once_strand_nobody() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 1, |gate| {
        take(&gate);
        let (woken, waker) = Woken::waker();
        let slot = join(&gate, &waker, in_time());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || set(&gate, Mode::Observe)
        });
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().is_ok()
        });
        release(&gate);
        operator.join().unwrap();
        let let_in = newcomer.join().unwrap();
        assert!(woken.is_woken());
        let tally = gate.tally();
        assert_eq!((tally.in_flight, tally.granted), (0, 1));
        assert_eq!(
            (tally.outcomes.cancelled, tally.full),
            (u64::from(let_in), u64::from(!let_in))
        );
        assert!(tally.would_reject <= u64::from(let_in), "{tally:?}");
        assert_claims(&gate, slot);
        set(&gate, Mode::Enforce);
        assert_admits(&gate, 1);
    });
}

#[test]
fn of_two_observed_at_once_exactly_one_would_have_been_rejected() {
    explore(1, 0, |gate| {
        set(&gate, Mode::Observe);
        let other = thread::spawn({
            let gate = Arc::clone(&gate);
            move || take(&gate)
        });
        take(&gate);
        other.join().unwrap();
        let tally = gate.tally();
        assert_eq!((tally.in_flight, tally.would_reject, tally.full), (2, 1, 0));
        set(&gate, Mode::Enforce);
        release(&gate);
        assert!(gate.try_enter().is_err(), "one is still in flight");
        release(&gate);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_queue_that_grows_takes_the_newcomer_or_the_next_one() {
    queue_changes_for_a_newcomer(0, 0, 1);
}

#[test]
fn a_queue_that_shrinks_takes_the_newcomer_or_rejects_it() {
    queue_changes_for_a_newcomer(2, 1, 1);
    queue_changes_for_a_newcomer(1, 0, 0);
}

/// `waiting` calls wait in a queue of `before` places when it gets `after`, and one more comes.
fn queue_changes_for_a_newcomer(before: u32, waiting: u32, after: u32) {
    explore(1, before, move |gate| {
        take(&gate);
        let mut waiters: Vec<_> = (0..waiting)
            .map(|_| join(&gate, Waker::noop(), in_time()))
            .collect();
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || set_queue(&gate, after)
        });
        let rejected = gate.reject_at_once().is_some();
        if !rejected {
            match come(&gate, Waker::noop(), in_time()) {
                Arrived::Queued { slot, .. } => waiters.push(slot),
                Arrived::AtOnce(Err(Rejection::Full(_))) => {}
                Arrived::AtOnce(_) => panic!("there is no room"),
            }
        }
        operator.join().unwrap();
        assert_eq!(gate.tally().waiting as usize, waiters.len());
        assert_queue_is_full(&gate, waiters.len() >= after as usize);
        release(&gate);
        for slot in waiters {
            assert_claims(&gate, slot);
        }
        take(&gate);
        assert_queue_is_full(&gate, after == 0);
        release(&gate);
        assert_empty(&gate);
    });
}

#[test]
fn a_queue_that_is_taken_away_during_a_release_strands_nobody() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 2, |gate| {
        take(&gate);
        let head = join(&gate, Waker::noop(), in_time());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || set_queue(&gate, 0)
        });
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        let newcomer = match come(&gate, Waker::noop(), in_time()) {
            Arrived::Queued { slot, .. } => Some(slot),
            Arrived::AtOnce(Err(Rejection::Full(_))) => None,
            Arrived::AtOnce(_) => panic!("the room is the waiter's"),
        };
        operator.join().unwrap();
        releaser.join().unwrap();
        assert_claims(&gate, head);
        if let Some(slot) = newcomer {
            assert_claims(&gate, slot);
        }
        take(&gate);
        assert_queue_is_full(&gate, true);
        release(&gate);
        assert_admits(&gate, 1);
    });
}

#[test]
fn those_that_wait_are_let_in_once_when_it_is_switched_off_during_a_release() {
    explore(1, 2, |gate| {
        take(&gate);
        let ((first_woken, first_waker), (second_woken, second_waker)) =
            (Woken::waker(), Woken::waker());
        let first = join(&gate, &first_waker, in_time());
        let second = join(&gate, &second_waker, in_time());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                set(&gate, Mode::Off);
                set(&gate, Mode::Enforce);
            }
        });
        release(&gate);
        operator.join().unwrap();
        assert!(first_woken.is_woken() && second_woken.is_woken());
        let tally = gate.tally();
        assert_eq!((tally.in_flight, tally.granted, tally.waiting), (0, 2, 0));
        assert!(tally.outcomes.success <= 1, "{tally:?}");
        assert_claims(&gate, first);
        assert_claims(&gate, second);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_release_that_began_while_it_was_off_serves_who_has_joined_since() {
    explore(1, 1, |gate| {
        set(&gate, Mode::Off);
        take(&gate);
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        set(&gate, Mode::Enforce);
        let (woken, waker) = Woken::waker();
        match come(&gate, &waker, in_time()) {
            Arrived::AtOnce(Ok(flight)) => {
                drop(flight);
                releaser.join().unwrap();
            }
            Arrived::Queued { slot, .. } => {
                releaser.join().unwrap();
                assert!(woken.is_woken(), "a waiter that the release did not see");
                assert_claims(&gate, slot);
            }
            Arrived::AtOnce(Err(_)) => panic!("there is a place in the queue"),
        }
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_switch_a_newcomer_and_two_releases_at_once_strand_nobody() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 1, |gate| {
        set(&gate, Mode::Off);
        take(&gate);
        take(&gate);
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                release(&gate);
                release(&gate);
            }
        });
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || set(&gate, Mode::Enforce)
        });
        let (woken, waker) = Woken::waker();
        let queued = match come(&gate, &waker, in_time()) {
            Arrived::AtOnce(Ok(flight)) => {
                drop(flight);
                None
            }
            Arrived::Queued { slot, .. } => Some(slot),
            Arrived::AtOnce(Err(_)) => panic!("there is a place in the queue"),
        };
        releaser.join().unwrap();
        operator.join().unwrap();
        if let Some(slot) = queued {
            assert!(woken.is_woken(), "a waiter that the releases did not see");
            assert_claims(&gate, slot);
        }
        assert_admits(&gate, 1);
    });
}

#[test]
fn the_last_permit_taken_during_a_release_leaves_no_flag() {
    for max in [1, 2] {
        explore_told(None, max, 0, move |gate, told| {
            watch(&gate, Watch::Saturation);
            take(&gate);
            let newcomer = thread::spawn({
                let gate = Arc::clone(&gate);
                move || gate.try_enter().map(std::mem::forget).is_ok()
            });
            release(&gate);
            let admitted = newcomer.join().unwrap();
            assert!(admitted || max == 1, "there is room");
            told.agrees(&gate, max == 1 && admitted);
            (0..u32::from(admitted)).for_each(|_| release(&gate));
            told.agrees(&gate, false);
            assert_admits(&gate, max as usize);
        });
    }
}

#[test]
fn two_releases_of_a_saturated_gate_relieve_it_once() {
    explore_told(Some(PREEMPTIONS_OF_THREE), 2, 0, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        take(&gate);
        told.agrees(&gate, true);
        let threads = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || release(&gate))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        told.agrees(&gate, false);
        assert_admits(&gate, 2);
    });
}

#[test]
fn a_release_and_two_newcomers_at_once_leave_the_flag_that_is_due() {
    explore_told(Some(PREEMPTIONS_OF_THREE), 2, 0, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let newcomers = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.try_enter().map(std::mem::forget).is_ok())
        });
        release(&gate);
        let admitted = newcomers
            .map(|newcomer| newcomer.join().unwrap())
            .into_iter()
            .filter(|admitted| *admitted)
            .count();
        told.agrees(&gate, admitted == 2);
        (0..admitted).for_each(|_| release(&gate));
        told.agrees(&gate, false);
        assert_admits(&gate, 2);
    });
}

#[test]
fn a_permit_that_is_handed_over_was_never_free() {
    explore_told(None, 1, 1, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let waiting = join(&gate, Waker::noop(), in_time());
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().is_ok()
        });
        release(&gate);
        assert!(!newcomer.join().unwrap(), "it overtakes");
        told.agrees(&gate, true);
        assert_eq!(gate.episode(), Some(1), "the same as before");
        assert_claims(&gate, waiting);
        told.agrees(&gate, false);
    });
}

#[test]
fn a_waiter_that_leaves_during_the_hand_off_leaves_no_flag() {
    explore_told(None, 1, 1, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let head = join(&gate, Waker::noop(), in_time());
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        gate.leave_queue(head, Leaving::Abandoned);
        releaser.join().unwrap();
        told.agrees(&gate, false);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_late_grant_that_a_newcomer_takes_back_leaves_the_flag_that_is_due() {
    explore_told(None, 1, 1, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let slot = join(&gate, Waker::noop(), long_over());
        release(&gate);
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().map(std::mem::forget).is_ok()
        });
        gate.leave_queue(slot, Leaving::Late(Bound::Wait));
        let admitted = newcomer.join().unwrap();
        told.agrees(&gate, admitted);
        (0..u32::from(admitted)).for_each(|_| release(&gate));
        told.agrees(&gate, false);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_resize_during_a_release_leaves_no_flag() {
    for (before, held, after) in [(2, 1, 1), (3, 2, 1), (1, 1, 2)] {
        explore_told(None, before, 0, move |gate, told| {
            watch(&gate, Watch::Saturation);
            (0..held).for_each(|_| take(&gate));
            let operator = thread::spawn({
                let gate = Arc::clone(&gate);
                move || {
                    gate.change(|terms| terms.max = after);
                    gate.hand_over();
                }
            });
            release(&gate);
            operator.join().unwrap();
            told.agrees(&gate, held > after);
            (1..held).for_each(|_| release(&gate));
            told.agrees(&gate, false);
            assert_admits(&gate, after as usize);
        });
    }
}

#[test]
fn a_resize_while_a_call_comes_leaves_the_flag_that_is_due() {
    for (before, after) in [(1, 2), (2, 1), (2, 3)] {
        explore_told(None, before, 0, move |gate, told| {
            watch(&gate, Watch::Saturation);
            take(&gate);
            let operator = thread::spawn({
                let gate = Arc::clone(&gate);
                move || {
                    gate.change(|terms| terms.max = after);
                    gate.hand_over();
                }
            });
            let newcomer = gate.try_enter();
            operator.join().unwrap();
            told.agrees(&gate, 1 + u32::from(newcomer.is_ok()) >= after);
            drop(newcomer);
            told.agrees(&gate, after == 1);
            release(&gate);
            told.agrees(&gate, false);
        });
    }
}

#[test]
fn growing_for_a_waiter_relieves_nobody_in_between() {
    explore_told(None, 1, 1, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let slot = join(&gate, Waker::noop(), in_time());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                gate.change(|terms| terms.max = 2);
                gate.hand_over();
            }
        });
        let overtakes = gate.try_enter().is_ok();
        operator.join().unwrap();
        assert!(!overtakes);
        told.agrees(&gate, true);
        assert_eq!(gate.episode(), Some(1), "the room was the waiter's");
        release(&gate);
        assert_claims(&gate, slot);
        told.agrees(&gate, false);
    });
}

#[test]
fn who_comes_and_goes_while_watching_begins_and_ends_leaves_no_flag() {
    for (level, held) in [
        (Watch::Saturation, 0),
        (Watch::Saturation, 1),
        (Watch::Admissions, 0),
    ] {
        explore_told(None, 1 + held, 0, move |gate, told| {
            (0..held).for_each(|_| take(&gate));
            let operator = thread::spawn({
                let gate = Arc::clone(&gate);
                move || {
                    watch(&gate, level);
                    watch(&gate, Watch::Nothing);
                }
            });
            let mut flight = gate.try_enter().expect("there is room");
            flight.means(Outcome::Success);
            drop(flight);
            operator.join().unwrap();
            told.agrees(&gate, false);
            assert_eq!(gate.tally().outcomes.success, 1);
            (0..held).for_each(|_| release(&gate));
            assert_admits(&gate, 1 + held as usize);
        });
    }
}

#[test]
fn the_mode_changes_while_the_last_permit_comes_back() {
    for mode in [Mode::Off, Mode::Observe] {
        explore_told(None, 1, 0, move |gate, told| {
            watch(&gate, Watch::Saturation);
            take(&gate);
            let operator = thread::spawn({
                let gate = Arc::clone(&gate);
                move || {
                    set(&gate, mode);
                    set(&gate, Mode::Enforce);
                }
            });
            release(&gate);
            operator.join().unwrap();
            told.agrees(&gate, false);
            assert_admits(&gate, 1);
        });
    }
}

/// Of the breaker that opens here, and of another one.
const OURS: Operation = Operation(1);
const OTHER: Operation = Operation(2);

/// Joins the queue of a gate that is full, for an operation.
fn join_as(gate: &Gate, operation: Operation, waker: &Waker) -> SlotIndex {
    let standing = Standing::Outside;
    match gate.join(
        waker,
        time::now(),
        in_time(),
        Bound::Wait,
        operation,
        standing,
    ) {
        Arrived::Queued { slot, .. } => slot,
        Arrived::AtOnce(_) => panic!("the gate is full, and the queue has a place"),
    }
}

/// A breaker, as far as a gate is concerned: a word without ordering, like that of the real one.
#[derive(Default)]
struct Opened(crate::sync::AtomicU64);

impl Opened {
    /// As the breaker does that trips.
    fn open(&self, gate: &Gate, operation: Option<Operation>) {
        self.0.store(1, Ordering::Relaxed);
        gate.turn_away(operation);
    }

    fn look(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

/// A waiter after its place was lost to a breaker: it learns that, and is not counted again.
#[track_caller]
fn assert_turned_away(gate: &Gate, slot: SlotIndex) {
    let before = gate.tally().breaker_open;
    let turn = gate.look(slot, Bound::Wait, in_time(), Waker::noop());
    assert!(matches!(turn, Turn::Over(Over::Open)), "a breaker opened");
    assert_eq!(
        gate.tally().breaker_open,
        before,
        "counted before it looked"
    );
}

/// What its breaker leaves of a call that has waited: its permit is given back, or its place is gone.
fn learns_that_it_is_open(gate: &Gate, slot: SlotIndex) {
    match gate.look(slot, Bound::Wait, in_time(), Waker::noop()) {
        Turn::Admitted(mut flight, _) => flight.means(Outcome::Unstarted),
        Turn::Over(Over::Open) => {}
        Turn::Over(_) => panic!("neither late nor closed"),
        Turn::Waiting => panic!("it waits before a breaker that is open"),
    }
}

#[test]
fn a_breaker_that_opens_while_a_call_joins_leaves_nobody_in_the_queue() {
    for operation in [None, Some(OURS)] {
        explore(1, 1, move |gate| {
            take(&gate);
            let opened = Arc::new(Opened::default());
            let opener = thread::spawn({
                let (gate, opened) = (Arc::clone(&gate), Arc::clone(&opened));
                move || opened.open(&gate, operation)
            });
            let (woken, waker) = Woken::waker();
            let slot = join_as(&gate, OURS, &waker);
            let leaves = opened.look();
            if leaves {
                let over = gate.leave_queue(slot, Leaving::Open);
                assert!(matches!(over, Over::Open), "whoever was first");
            }
            opener.join().unwrap();
            if !leaves {
                assert!(woken.is_woken(), "it sleeps before an open breaker");
                assert_turned_away(&gate, slot);
            }
            let tally = gate.tally();
            assert_eq!((tally.waiting, tally.breaker_open), (0, 1), "{tally:?}");
            assert_queue_is_full(&gate, false);
            release(&gate);
            assert_admits(&gate, 1);
        });
    }
}

#[test]
fn two_breakers_that_open_at_once_turn_a_waiter_away_once() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 1, |gate| {
        take(&gate);
        let slot = join_as(&gate, OURS, Waker::noop());
        let openers = [None, Some(OURS)].map(|operation| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.turn_away(operation))
        });
        gate.leave_queue(slot, Leaving::Open);
        for opener in openers {
            opener.join().unwrap();
        }
        let tally = gate.tally();
        assert_eq!((tally.waiting, tally.breaker_open), (0, 1), "{tally:?}");
        assert_queue_is_full(&gate, false);
        release(&gate);
        assert_admits(&gate, 1);
    });
}

#[test]
fn turning_one_operation_away_while_another_joins_keeps_that_in_its_order() {
    explore(1, 4, |gate| {
        take(&gate);
        let [first, second, third] = [OTHER, OURS, OTHER].map(|operation| {
            let (woken, waker) = Woken::waker();
            (join_as(&gate, operation, &waker), woken)
        });
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(Some(OURS))
        });
        let last = join_as(&gate, OTHER, Waker::noop());
        opener.join().unwrap();
        assert_turned_away(&gate, second.0);
        let tally = gate.tally();
        assert_eq!((tally.waiting, tally.breaker_open), (3, 1), "{tally:?}");
        assert!(second.1.is_woken() && !first.1.is_woken() && !third.1.is_woken());
        release(&gate);
        for next in [first.0, third.0, last] {
            assert_eq!(gate.tally().granted, 1, "one after the other");
            assert_claims(&gate, next);
        }
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_head_that_is_turned_away_during_a_release_passes_the_permit_on() {
    explore(1, 2, |gate| {
        take(&gate);
        let head = join_as(&gate, OURS, Waker::noop());
        let (second_woken, second_waker) = Woken::waker();
        let second = join_as(&gate, OTHER, &second_waker);
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(Some(OURS))
        });
        release(&gate);
        opener.join().unwrap();
        learns_that_it_is_open(&gate, head);
        let tally = gate.tally();
        assert_eq!((tally.breaker_open, tally.outcomes.success), (1, 1));
        assert!(second_woken.is_woken());
        assert_claims(&gate, second);
        assert_admits(&gate, 1);
    });
}

#[test]
fn all_are_turned_away_during_a_release_and_a_newcomer_comes() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 1, 1, |gate| {
        take(&gate);
        let waiting = join_as(&gate, OURS, Waker::noop());
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(None)
        });
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.try_enter().is_ok()
        });
        release(&gate);
        opener.join().unwrap();
        let admitted = newcomer.join().unwrap();
        learns_that_it_is_open(&gate, waiting);
        let tally = gate.tally();
        assert_eq!((tally.breaker_open, tally.full), (1, u64::from(!admitted)));
        assert_admits(&gate, 1);
    });
}

/// A waiter of ours loses its place to a breaker, while somebody does that as well; then it was counted once, for
/// one reason or the other.
fn turned_away_beside(beside: impl Fn(&Gate, SlotIndex) + Copy + Send + Sync + 'static) {
    explore(1, 1, move |gate| {
        take(&gate);
        let slot = join_as(&gate, OURS, Waker::noop());
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(Some(OURS))
        });
        beside(&gate, slot);
        opener.join().unwrap();
        let tally = gate.tally();
        let counted = tally.breaker_open + tally.abandoned + tally.closed + tally.wait_timeout;
        assert_eq!((tally.waiting, counted), (0, 1), "{tally:?}");
        gate.leave_queue(slot, Leaving::Abandoned);
        gate.reopen();
        assert_queue_is_full(&gate, false);
        release(&gate);
        assert_eq!(gate.tally().outcomes.success, 1);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_waiter_that_leaves_while_it_is_turned_away_is_counted_once() {
    turned_away_beside(|gate, slot| {
        gate.leave_queue(slot, Leaving::Abandoned);
    });
}

#[test]
fn a_waiter_that_is_late_while_it_is_turned_away_is_counted_once() {
    turned_away_beside(|gate, slot| {
        gate.leave_queue(slot, Leaving::Late(Bound::Wait));
    });
}

#[test]
fn a_gate_that_closes_while_a_breaker_opens_counts_a_waiter_once() {
    turned_away_beside(|gate, _| assert!(gate.close(), "it was open"));
}

#[test]
fn a_waiter_that_is_overdue_while_it_is_turned_away_is_counted_once() {
    explore(1, 1, |gate| {
        take(&gate);
        let slot = join(&gate, Waker::noop(), long_over());
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(None)
        });
        gate.clear_overdue();
        opener.join().unwrap();
        let over = gate.leave_queue(slot, Leaving::Late(Bound::Wait));
        let tally = gate.tally();
        assert_eq!(tally.breaker_open + tally.wait_timeout, 1, "{tally:?}");
        let is_open = matches!(over, Over::Open);
        assert_eq!(is_open, tally.breaker_open == 1, "told as it was counted");
        release(&gate);
        assert_admits(&gate, 1);
    });
}

#[test]
fn growing_while_a_breaker_opens_serves_who_is_left() {
    explore(1, 2, |gate| {
        take(&gate);
        let ours = join_as(&gate, OURS, Waker::noop());
        let (woken, waker) = Woken::waker();
        let other = join_as(&gate, OTHER, &waker);
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                gate.change(|terms| terms.max = 2);
                gate.hand_over();
            }
        });
        gate.turn_away(Some(OURS));
        operator.join().unwrap();
        learns_that_it_is_open(&gate, ours);
        assert_eq!(gate.tally().breaker_open, 1);
        assert!(woken.is_woken());
        assert_claims(&gate, other);
        release(&gate);
        assert_admits(&gate, 2);
    });
}

#[test]
fn a_queue_that_shrinks_while_a_breaker_opens_has_the_places_that_are_left() {
    for after in [0, 1] {
        explore(1, 2, move |gate| {
            take(&gate);
            let ours = join_as(&gate, OURS, Waker::noop());
            let other = join_as(&gate, OTHER, Waker::noop());
            let operator = thread::spawn({
                let gate = Arc::clone(&gate);
                move || set_queue(&gate, after)
            });
            gate.turn_away(Some(OURS));
            operator.join().unwrap();
            assert_turned_away(&gate, ours);
            assert_queue_is_full(&gate, true);
            release(&gate);
            assert_claims(&gate, other);
            take(&gate);
            assert_queue_is_full(&gate, after == 0);
            release(&gate);
            assert_admits(&gate, 1);
        });
    }
}

#[test]
fn a_waker_that_is_new_while_it_is_turned_away_is_woken_or_not_needed() {
    explore(1, 1, |gate| {
        take(&gate);
        let ((_, old), (woken, new)) = (Woken::waker(), Woken::waker());
        let slot = join_as(&gate, OURS, &old);
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(Some(OURS))
        });
        let turn = gate.look(slot, Bound::Wait, in_time(), &new);
        opener.join().unwrap();
        match turn {
            Turn::Waiting => {
                assert!(woken.is_woken(), "by the waker that it left last");
                assert_turned_away(&gate, slot);
            }
            Turn::Over(over) => assert!(matches!(over, Over::Open), "for that reason"),
            Turn::Admitted(..) => panic!("there is no room"),
        }
        assert_eq!(gate.tally().breaker_open, 1);
        release(&gate);
        assert_admits(&gate, 1);
    });
}

#[test]
fn a_permit_without_a_probe_goes_on_to_who_has_joined_and_counts_as_a_rejection() {
    explore_told(None, 1, 1, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let unstarted = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate_flight(&gate).means(Outcome::Unstarted)
        });
        let (woken, waker) = Woken::waker();
        match come(&gate, &waker, in_time()) {
            Arrived::AtOnce(Ok(flight)) => {
                drop(flight);
                unstarted.join().unwrap();
            }
            Arrived::Queued { slot, .. } => {
                unstarted.join().unwrap();
                assert!(woken.is_woken(), "a waiter that the release did not see");
                assert_claims(&gate, slot);
            }
            Arrived::AtOnce(Err(_)) => panic!("there is a place in the queue"),
        }
        let tally = gate.tally();
        assert_eq!((tally.breaker_open, tally.outcomes.cancelled), (1, 1));
        assert_eq!(tally.outcomes.success, 0, "{tally:?}");
        told.agrees(&gate, false);
        assert_admits(&gate, 1);
    });
}

#[test]
fn two_permits_without_a_probe_serve_two_waiters() {
    explore_bounded(Some(PREEMPTIONS_OF_THREE), 2, 2, |gate| {
        take(&gate);
        take(&gate);
        let waiters = [(); 2].map(|()| join(&gate, Waker::noop(), in_time()));
        let threads = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate_flight(&gate).means(Outcome::Unstarted))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let tally = gate.tally();
        assert_eq!((tally.granted, tally.breaker_open), (2, 2), "{tally:?}");
        for slot in waiters {
            assert_claims(&gate, slot);
        }
        assert_admits(&gate, 2);
    });
}

#[test]
fn who_is_turned_away_from_a_saturated_gate_leaves_the_flag_that_is_due() {
    explore_told(None, 1, 1, |gate, told| {
        watch(&gate, Watch::Saturation);
        take(&gate);
        let slot = join_as(&gate, OURS, Waker::noop());
        let opener = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.turn_away(None)
        });
        release(&gate);
        opener.join().unwrap();
        let is_granted = gate.tally().granted == 1;
        told.agrees(&gate, is_granted);
        learns_that_it_is_open(&gate, slot);
        told.agrees(&gate, false);
        assert_admits(&gate, 1);
    });
}

#[test]
fn off_and_back_while_a_breaker_opens_lets_the_waiter_in_or_turns_it_away() {
    explore(1, 1, |gate| {
        take(&gate);
        let slot = join_as(&gate, OURS, Waker::noop());
        let operator = thread::spawn({
            let gate = Arc::clone(&gate);
            move || {
                set(&gate, Mode::Off);
                set(&gate, Mode::Enforce);
            }
        });
        gate.turn_away(Some(OURS));
        operator.join().unwrap();
        let tally = gate.tally();
        assert_eq!(
            u64::from(tally.granted) + tally.breaker_open,
            1,
            "{tally:?}"
        );
        learns_that_it_is_open(&gate, slot);
        release(&gate);
        let tally = gate.tally();
        assert_eq!((tally.breaker_open, tally.outcomes.success), (1, 1));
        assert_admits(&gate, 1);
    });
}

/// A gate that drains, and what was told so far: from here on somebody waits for the last one.
fn drain(gate: &Gate, told: &Told) -> u64 {
    gate.drain();
    told.emptied.load(Ordering::Relaxed)
}

/// Whoever has looked and not seen that the gate is empty was told of it since.
#[track_caller]
fn assert_learns(gate: &Gate, told: &Told, before: u64, has_seen: bool) {
    assert_empty(gate);
    let is_told = told.emptied.load(Ordering::Relaxed) > before;
    assert!(
        has_seen || is_told,
        "it waits for the last one, which has left"
    );
}

fn enter_inside(gate: &Gate) -> Result<super::Flight<'_>, Rejection> {
    gate.try_enter_slowly(|| Standing::Inside)
}

#[test]
fn the_last_release_is_seen_by_a_drain_or_tells_it() {
    explore_told(None, 1, 0, |gate, told| {
        take(&gate);
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        let before = drain(&gate, told);
        let has_seen = gate.is_empty();
        releaser.join().unwrap();
        assert_learns(&gate, told, before, has_seen);
        assert_eq!(gate.tally().outcomes.success, 1, "counted all the same");
    });
}

#[test]
fn the_last_of_two_releases_is_seen_by_a_drain_or_tells_it() {
    explore_told(Some(PREEMPTIONS_OF_THREE), 2, 0, |gate, told| {
        take(&gate);
        take(&gate);
        let releasers = [(); 2].map(|()| {
            let gate = Arc::clone(&gate);
            thread::spawn(move || release(&gate))
        });
        let before = drain(&gate, told);
        let has_seen = gate.is_empty();
        for releaser in releasers {
            releaser.join().unwrap();
        }
        assert_learns(&gate, told, before, has_seen);
    });
}

#[test]
fn a_release_while_it_is_off_is_seen_by_a_drain_or_tells_it() {
    explore_told(None, 1, 0, |gate, told| {
        take(&gate);
        set(&gate, Mode::Off);
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        let before = drain(&gate, told);
        let has_seen = gate.is_empty();
        releaser.join().unwrap();
        assert_learns(&gate, told, before, has_seen);
    });
}

#[test]
fn a_late_grant_that_somebody_takes_back_is_seen_by_a_drain_or_tells_it() {
    explore_told(None, 1, 1, |gate, told| {
        take(&gate);
        let slot = join(&gate, Waker::noop(), long_over());
        release(&gate);
        let newcomer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || drop(gate.try_enter())
        });
        let before = drain(&gate, told);
        let has_seen = gate.is_empty();
        newcomer.join().unwrap();
        gate.clear();
        assert_learns(&gate, told, before, has_seen);
        gate.leave_queue(slot, Leaving::Abandoned);
        assert_eq!(gate.tally().wait_timeout, 1, "counted once");
    });
}

#[test]
fn a_call_inside_that_comes_while_a_draining_gate_is_closed_is_in_or_turned_away() {
    explore_told(None, 1, 0, |gate, told| {
        let before = drain(&gate, told);
        let closer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || assert!(!gate.close(), "it was closed for those outside")
        });
        let entered = enter_inside(&gate);
        let is_in = match &entered {
            Ok(_) => true,
            Err(Rejection::Closed(_)) => false,
            Err(rejection) => panic!("there is room: {rejection:?}"),
        };
        let has_seen = gate.is_empty();
        drop(entered);
        closer.join().unwrap();
        assert!(
            matches!(enter_inside(&gate), Err(Rejection::Closed(_))),
            "it is closed for all"
        );
        assert_learns(&gate, told, before, has_seen);
        let tally = gate.tally();
        assert_eq!(
            (tally.outcomes.cancelled, tally.closed),
            (u64::from(is_in), 2 - u64::from(is_in))
        );
    });
}

#[test]
fn a_drain_during_a_release_turns_the_waiter_outside_away_and_keeps_the_one_inside() {
    explore_told(None, 1, 2, |gate, told| {
        take(&gate);
        let (woken, waker) = Woken::waker();
        let outside = join(&gate, Waker::noop(), in_time());
        let Arrived::Queued { slot: inside, .. } =
            come_as(&gate, Standing::Inside, &waker, in_time())
        else {
            panic!("the queue has a place")
        };
        let releaser = thread::spawn({
            let gate = Arc::clone(&gate);
            move || release(&gate)
        });
        let before = drain(&gate, told);
        let has_seen = gate.is_empty();
        releaser.join().unwrap();
        let was_granted = match gate.look(outside, Bound::Wait, in_time(), Waker::noop()) {
            Turn::Admitted(flight, _) => {
                assert!(!woken.is_woken(), "it overtakes");
                drop(flight);
                true
            }
            Turn::Over(Over::Closed(_)) => false,
            _ => panic!("it is closed for those outside"),
        };
        assert!(woken.is_woken(), "it waits for ever");
        assert!(!gate.is_empty(), "granted, and not claimed yet");
        assert_claims(&gate, inside);
        assert_learns(&gate, told, before, has_seen);
        assert_eq!(gate.tally().closed, u64::from(!was_granted));
    });
}

#[test]
fn a_call_inside_that_would_wait_joins_while_a_drain_begins() {
    explore_told(None, 1, 1, |gate, told| {
        take(&gate);
        let (woken, waker) = Woken::waker();
        let drainer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || assert!(gate.drain(), "it was open")
        });
        let Arrived::Queued { slot, .. } = come_as(&gate, Standing::Inside, &waker, in_time())
        else {
            panic!("no room, and a place in the queue")
        };
        drainer.join().unwrap();
        let before = told.emptied.load(Ordering::Relaxed);
        assert!(!gate.is_empty());
        release(&gate);
        assert!(woken.is_woken());
        assert_claims(&gate, slot);
        assert_learns(&gate, told, before, false);
        assert_eq!(gate.tally().closed, 0, "nobody was turned away");
    });
}

#[test]
fn a_drain_and_a_close_at_once_end_closed_for_all_and_one_of_them_has_done_it() {
    explore(1, 0, |gate| {
        let drainer = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.drain()
        });
        let by_close = gate.close();
        assert!(by_close != drainer.join().unwrap(), "told once");
        assert!(matches!(enter_inside(&gate), Err(Rejection::Closed(_))));
        assert!(gate.reopen());
        assert_admits(&gate, 1);
    });
}
