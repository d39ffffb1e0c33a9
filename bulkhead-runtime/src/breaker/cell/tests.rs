use std::sync::{Barrier, mpsc};
use std::thread;

use tokio::time::advance;

use super::super::settings::BreakerPolicy;
use super::super::transition::BreakerCause;
use super::*;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const FAILURE: Seen = Seen::Failure { slow: false };
const SUCCESS: Seen = Seen::Success { slow: false };

fn breaker(probes: u32) -> BreakerCell {
    let policy = BreakerPolicy::new()
        .with_consecutive(1)
        .with_open_for(100 * MS);
    BreakerCell::new(policy.with_probes(probes).demanded())
}

fn enter(breaker: &BreakerCell) -> Result<Watch<'_>, Rejected> {
    let (result, _moves) = breaker.enter(SECOND);
    assert_eq!(
        breaker.word(),
        Word::of(&breaker.machine.lock(), Stamp::now()),
        "a copy"
    );
    result
}

fn call(breaker: &BreakerCell, seen: Seen) -> Option<BreakerTransition> {
    let Ok(watch) = enter(breaker) else {
        panic!("it does not pass: {:?}", breaker.snapshot());
    };
    let transition = watch.saw(Stamp::now(), seen);
    assert_eq!(
        breaker.word(),
        Word::of(&breaker.machine.lock(), Stamp::now()),
        "a copy"
    );
    transition
}

/// A breaker whose cool-down is over.
async fn cooled_down(probes: u32) -> BreakerCell {
    let breaker = breaker(probes);
    assert!(call(&breaker, FAILURE).is_some(), "it trips");
    advance(120 * MS).await;
    breaker
}

#[tokio::test(start_paused = true)]
async fn open_it_says_when_to_come_back_and_keeps_its_word() {
    let breaker = breaker(1);
    let opened = call(&breaker, FAILURE).expect("it trips");
    let (Look::Open(rejected), _) = breaker.look() else {
        panic!("it passes")
    };
    assert_eq!(rejected.retry_after, opened.open_for);
    assert_eq!(enter(&breaker).err(), Some(rejected));
    let left = opened.open_for.expect("a cool-down");
    assert!(left >= 100 * MS && left < 120 * MS, "{left:?}");
    advance(99 * MS).await;
    assert!(enter(&breaker).is_err(), "too early");
    advance(left.saturating_sub(99 * MS)).await;
    assert_eq!(breaker.look().0, Look::HalfOpen);
    let closed = call(&breaker, SUCCESS).map(|closed| closed.cause);
    assert_eq!(closed, Some(BreakerCause::ProbesSucceeded));
    assert_eq!(breaker.look(), (Look::Pass, Moves::NONE));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_gives_its_place_to_the_next() {
    let breaker = cooled_down(1).await;
    let probe = enter(&breaker).ok();
    assert!(probe.as_ref().is_some_and(Watch::is_probe), "the first one");
    assert!(enter(&breaker).is_err(), "there is one place");
    drop(probe);
    assert!(enter(&breaker).is_ok(), "it is free again");
    assert_eq!(breaker.snapshot().0, BreakerState::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_after_it_hung_has_failed() {
    let breaker = cooled_down(1).await;
    let hung = enter(&breaker).ok();
    advance(SECOND + MS).await;
    drop(hung);
    let (look, moves) = breaker.look();
    let causes: Vec<_> = moves.into_iter().map(|moved| moved.cause).collect();
    assert_eq!(causes, [BreakerCause::ProbeExpired]);
    assert!(matches!(look, Look::Open(_)), "{look:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_that_say_nothing_leave_the_window_as_it_was() {
    let breaker = breaker(1);
    for _ in 0..50 {
        assert_eq!(call(&breaker, Seen::Nothing), None);
        drop(enter(&breaker));
    }
    assert_eq!(
        breaker.snapshot(),
        (BreakerState::Closed, Totals::default())
    );
}

#[tokio::test(start_paused = true)]
async fn late_results_of_the_closed_era_change_nothing() {
    let breaker = breaker(2);
    let late: Vec<_> = (0..3).filter_map(|_| enter(&breaker).ok()).collect();
    assert!(call(&breaker, FAILURE).is_some(), "it trips");
    advance(120 * MS).await;
    let probe = enter(&breaker).ok();
    for (late, seen) in late.into_iter().zip([SUCCESS, FAILURE, Seen::CutShort]) {
        assert_eq!(late.saw(Stamp::now(), seen), None);
    }
    assert_eq!(breaker.snapshot().0, BreakerState::HalfOpen);
    drop(probe);
}

#[tokio::test(start_paused = true)]
async fn a_hand_moves_it_and_the_look_follows() {
    let breaker = breaker(1);
    let by_hand = breaker.force_open().map(|moved| moved.cause);
    assert_eq!(by_hand, Some(BreakerCause::ByHand));
    let shut = Rejected { retry_after: None };
    assert_eq!(breaker.look().0, Look::Open(shut));
    assert_eq!(enter(&breaker).err(), Some(shut));
    assert!(breaker.disable().is_some(), "a move");
    assert_eq!(breaker.look().0, Look::Pass);
    assert_eq!(call(&breaker, FAILURE), None);
    assert!(breaker.reset().is_some(), "a move");
    assert!(call(&breaker, FAILURE).is_some(), "it counts again");
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_arrivals_on_eight_threads_as_many_pass_as_there_are_probes() {
    for probes in [1, 2, 7] {
        let breaker = cooled_down(probes).await;
        let (start, runtime) = (Barrier::new(8), tokio::runtime::Handle::current());
        let arrive = || {
            let _clock = runtime.enter();
            start.wait();
            let mut half_opened = 0;
            let passed: Vec<_> = (0..125)
                .filter_map(|_| {
                    let (result, moves) = breaker.enter(SECOND);
                    half_opened += moves.into_iter().count();
                    result.ok()
                })
                .collect();
            (passed, half_opened)
        };
        let (passed, half_opened) = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(arrive)).collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"));
            joined.fold((Vec::new(), 0), |(mut all, sum), (passed, half_opened)| {
                all.extend(passed);
                (all, sum + half_opened)
            })
        });
        assert_eq!((passed.len(), half_opened), (probes as usize, 1));
        let last = passed
            .into_iter()
            .filter_map(|watch| watch.saw(Stamp::now(), SUCCESS))
            .last();
        assert_eq!(last.map(|moved| moved.to), Some(BreakerState::Closed));
    }
}

/// Tells it in a minute of real time at the latest, and does not hang.
#[test]
fn what_counts_for_nothing_and_what_passes_takes_no_lock() {
    let breaker = breaker(1);
    let late = enter(&breaker).ok();
    assert_eq!(breaker.reset(), None);
    thread::scope(|scope| {
        let held = breaker.machine.lock();
        let (sender, done) = mpsc::channel();
        let breaker = &breaker;
        scope.spawn(move || {
            let passes = breaker.look().0 == Look::Pass;
            let nothing = breaker
                .enter(SECOND)
                .0
                .map(|watch| watch.saw(Stamp::now(), Seen::Nothing));
            drop(breaker.enter(SECOND).0);
            let late = late.and_then(|watch| watch.saw(Stamp::now(), FAILURE));
            sender.send((passes, nothing, late)).is_ok()
        });
        let result = done.recv_timeout(60 * SECOND);
        drop(held);
        assert_eq!(result, Ok((true, Ok(None), None)));
    });
}

#[tokio::test(start_paused = true)]
async fn no_result_is_lost_between_threads() {
    let breaker = BreakerCell::new(BreakerPolicy::new().failure_ppm(1_000_000).demanded());
    let runtime = tokio::runtime::Handle::current();
    thread::scope(|scope| {
        for thread in 0..8_u32 {
            let (breaker, runtime) = (&breaker, &runtime);
            scope.spawn(move || {
                let _clock = runtime.enter();
                for call in 0..500 {
                    let watch = breaker.enter(SECOND).0.expect("it is closed");
                    // The first of each thread succeeds, so that no share is ever 100 %.
                    let seen = if call > 0 && thread % 2 == 0 {
                        FAILURE
                    } else {
                        SUCCESS
                    };
                    assert_eq!(watch.saw(Stamp::now(), seen), None);
                }
            });
        }
    });
    let totals = Totals {
        calls: 4_000,
        failures: 4 * 499,
        slow: 0,
    };
    assert_eq!(breaker.snapshot(), (BreakerState::Closed, totals));
}

#[tokio::test(start_paused = true)]
async fn successes_are_told_one_by_one_while_calls_are_rare_or_anything_is_wrong() {
    let breaker = breaker(1);
    let calls = |breaker: &BreakerCell| breaker.snapshot().1.calls;
    for told in 1..=256 {
        assert!(!breaker.is_calm(), "{told}");
        assert_eq!(call(&breaker, SUCCESS), None);
    }
    assert!(breaker.is_calm(), "as many in one slice");
    let mut watch = enter(&breaker).expect("it is closed");
    assert!(watch.succeeded_at_once());
    assert!(!breaker.is_calm(), "one was granted");
    assert_eq!(calls(&breaker), 257);

    advance(Duration::from_secs(10)).await;
    assert_eq!(calls(&breaker), 0);
    assert!(!breaker.is_calm(), "a look at an old slice grants nothing");

    for _ in 0..16 {
        assert_eq!(call(&breaker, Seen::CutShort), None);
    }
    let slow = BreakerCell::new(BreakerPolicy::new().with_slow(SECOND).demanded());
    for _ in 0..512 {
        assert_eq!(call(&slow, SUCCESS), None);
    }
    assert!(slow.is_calm());
    assert_eq!(call(&slow, Seen::Success { slow: true }), None);
    assert!(!slow.is_calm(), "as long as the window remembers it");
    advance(Duration::from_secs(11)).await;
    for _ in 0..256 {
        assert_eq!(call(&slow, SUCCESS), None);
    }
    assert!(slow.is_calm());
}

#[tokio::test(start_paused = true)]
async fn a_late_success_of_another_era_is_not_counted_in_the_word() {
    let breaker = breaker(1);
    for _ in 0..1_024 {
        assert_eq!(call(&breaker, SUCCESS), None);
    }
    let mut late = enter(&breaker).expect("it is closed");
    assert_eq!(breaker.reset(), None);
    for _ in 0..1_024 {
        assert_eq!(call(&breaker, SUCCESS), None);
    }
    assert!(breaker.is_calm());
    assert!(late.succeeded_at_once(), "nothing is left to tell");
    assert_eq!(breaker.snapshot().1.calls, 1_024);
}

#[tokio::test(start_paused = true)]
async fn no_success_is_lost_between_the_word_and_the_machine() {
    let breaker = BreakerCell::new(BreakerPolicy::new().demanded());
    let runtime = tokio::runtime::Handle::current();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _clock = runtime.enter();
                for _ in 0..10_000 {
                    let mut watch = breaker.enter(SECOND).0.expect("it is closed");
                    if !watch.succeeded_at_once() {
                        assert_eq!(watch.saw(Stamp::now(), SUCCESS), None);
                    }
                }
            });
        }
    });
    assert_eq!(breaker.snapshot().1.calls, 40_000);
}

#[test]
fn jitter_differs_from_breaker_to_breaker_and_from_time_to_time() {
    let (one, other) = (breaker(1), breaker(1));
    let draw = |breaker: &BreakerCell| {
        (0..64)
            .map(|at| breaker.jitter(Stamp(at * 1_000_000)).0)
            .collect::<Vec<_>>()
    };
    let (first, second) = (draw(&one), draw(&other));
    assert_ne!(first, second);
    let low = first.iter().filter(|&&jitter| jitter < 1 << 31).count();
    assert!((8..56).contains(&low), "{low} of 64 in the lower half");
}
