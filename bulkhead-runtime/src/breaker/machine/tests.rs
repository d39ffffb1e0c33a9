use super::super::settings::BreakerPolicy;
use super::*;

const MS: u64 = 1_000_000;
const NONE: Jitter = Jitter(0);
const SUCCESS: Seen = Seen::Success { slow: false };
const FAILURE: Seen = Seen::Failure { slow: false };
const SLOW: Seen = Seen::Success { slow: true };
const TIMEOUT: Duration = Duration::from_millis(50);

fn at(ms: u64) -> Stamp {
    Stamp(ms * MS)
}

/// Trips on the second failure in a row, or on half of four calls; cools down for 100 ms.
fn policy() -> BreakerPolicy {
    BreakerPolicy::new()
        .with_consecutive(2)
        .with_min_calls(4)
        .with_open_for(Duration::from_millis(100))
        .with_max_open_for(Duration::from_millis(300))
}

fn machine() -> Machine {
    Machine::new(policy().demanded())
}

fn take(machine: &mut Machine, ms: u64) -> Ticket {
    let (result, _moves) = machine.ticket(at(ms), NONE, TIMEOUT);
    result.expect("it passes")
}

fn refused(machine: &mut Machine, ms: u64) -> Rejected {
    let (result, moves) = machine.ticket(at(ms), NONE, TIMEOUT);
    assert_eq!(moves, Moves::NONE);
    result.expect_err("it does not pass")
}

fn call(machine: &mut Machine, ms: u64, seen: Seen) -> Option<BreakerTransition> {
    let ticket = take(machine, ms);
    machine.report(at(ms), NONE, ticket, seen)
}

/// Tripped at `ms`.
fn open(ms: u64) -> Machine {
    let mut machine = machine();
    assert_eq!(call(&mut machine, ms, FAILURE), None);
    assert!(call(&mut machine, ms, FAILURE).is_some(), "it trips");
    machine
}

/// With its first probe out since 100 ms.
fn half_open() -> (Machine, Ticket) {
    let mut machine = open(0);
    let probe = take(&mut machine, 100);
    assert_eq!(machine.state(), BreakerState::HalfOpen);
    (machine, probe)
}

fn retry_after(ms: u64) -> Rejected {
    Rejected {
        retry_after: Some(Duration::from_millis(ms)),
    }
}

#[test]
fn failures_in_a_row_trip_it_and_a_success_between_them_does_not() {
    let mut machine = machine();
    for seen in [FAILURE, SUCCESS, SUCCESS, SUCCESS, FAILURE] {
        assert_eq!(call(&mut machine, 0, seen), None);
    }
    let expected = BreakerTransition {
        from: BreakerState::Closed,
        to: BreakerState::Open,
        era: 1,
        cause: BreakerCause::Consecutive { failures: 2 },
        open_for: Some(Duration::from_millis(100)),
    };
    assert_eq!(call(&mut machine, 0, FAILURE), Some(expected));
}

#[test]
fn a_share_of_failures_trips_it_at_the_call_that_makes_enough_of_them() {
    let mut machine = machine();
    for seen in [FAILURE, SUCCESS, FAILURE] {
        assert_eq!(call(&mut machine, 0, seen), None);
    }
    let totals = Totals {
        calls: 4,
        failures: 2,
        slow: 0,
    };
    let cause = call(&mut machine, 0, SUCCESS).map(|opened| opened.cause);
    assert_eq!(cause, Some(BreakerCause::failure_rate(totals)));
}

#[test]
fn failures_that_the_window_has_forgotten_trip_nothing() {
    let mut machine = machine();
    for seen in [FAILURE, SUCCESS, FAILURE] {
        assert_eq!(call(&mut machine, 0, seen), None);
    }
    assert_eq!(call(&mut machine, 10_000, SUCCESS), None);
    assert_eq!(machine.totals(at(10_000)).calls, 1);
}

#[test]
fn late_answers_trip_it_only_where_slow_is_set() {
    let mut blind = machine();
    let mut seeing = Machine::new(policy().with_slow(TIMEOUT).demanded());
    for _ in 0..3 {
        assert_eq!(call(&mut blind, 0, SLOW), None);
        assert_eq!(call(&mut seeing, 0, SLOW), None);
    }
    assert_eq!(call(&mut blind, 0, SLOW), None);
    assert_eq!(blind.totals(at(0)).slow, 0);
    let cause = call(&mut seeing, 0, SLOW).map(|opened| opened.cause);
    assert!(
        matches!(cause, Some(BreakerCause::SlowRate { .. })),
        "{cause:?}"
    );
}

#[test]
fn a_hang_is_seen_although_every_caller_leaves_early() {
    let mut machine = Machine::new(policy().with_slow(TIMEOUT).demanded());
    for _ in 0..3 {
        assert_eq!(call(&mut machine, 0, Seen::CutShort), None);
    }
    let cause = call(&mut machine, 0, Seen::CutShort).map(|opened| opened.cause);
    assert!(
        matches!(cause, Some(BreakerCause::SlowRate { .. })),
        "{cause:?}"
    );
}

#[test]
fn a_call_that_was_cut_short_ends_no_row_of_failures() {
    let mut machine = Machine::new(policy().with_slow(TIMEOUT).demanded());
    assert_eq!(call(&mut machine, 0, FAILURE), None);
    assert_eq!(call(&mut machine, 0, Seen::CutShort), None);
    let cause = call(&mut machine, 0, FAILURE).map(|opened| opened.cause);
    assert_eq!(cause, Some(BreakerCause::Consecutive { failures: 2 }));
}

#[test]
fn a_hundred_results_that_say_nothing_change_nothing() {
    let mut machine = Machine::new(policy().with_min_calls(1).demanded());
    assert_eq!(call(&mut machine, 0, SUCCESS), None);
    assert_eq!(call(&mut machine, 0, SUCCESS), None);
    assert_eq!(call(&mut machine, 0, SUCCESS), None);
    assert_eq!(call(&mut machine, 0, FAILURE), None);
    let before = machine.totals(at(0));
    for _ in 0..50 {
        assert_eq!(call(&mut machine, 0, Seen::Nothing), None);
        // Not slow, as far as these settings can tell.
        assert_eq!(call(&mut machine, 0, Seen::CutShort), None);
    }
    assert_eq!(machine.totals(at(0)), before);
    let cause = call(&mut machine, 0, FAILURE).map(|opened| opened.cause);
    assert_eq!(
        cause,
        Some(BreakerCause::Consecutive { failures: 2 }),
        "the row goes on"
    );
}

#[test]
fn open_it_says_when_to_come_back_and_passes_then() {
    let mut machine = open(7);
    assert_eq!(refused(&mut machine, 7), retry_after(100));
    let (look, moves) = machine.look(at(106), NONE);
    assert_eq!((look, moves), (Look::Open(retry_after(1)), Moves::NONE));
    assert_eq!(machine.next_probe_at(at(0)), Some(at(107)));
    assert_eq!(machine.next_probe_at(at(200)), Some(at(200)), "at once");
    assert_eq!(machine.look(at(107), NONE).0, Look::HalfOpen);
    assert_eq!(machine.state(), BreakerState::Open, "a look takes nothing");
    let (result, moves) = machine.ticket(at(107), NONE, TIMEOUT);
    assert!(result.is_ok_and(Ticket::is_probe), "the first probe");
    let moves: Vec<_> = moves.into_iter().collect();
    let expected = BreakerTransition {
        from: BreakerState::Open,
        to: BreakerState::HalfOpen,
        era: 2,
        cause: BreakerCause::CooledDown,
        open_for: None,
    };
    assert_eq!(moves, [expected]);
}

#[test]
fn a_thousand_arrivals_get_as_many_tickets_as_there_are_probes() {
    for probes in [1, 2, 1_000] {
        let mut machine = Machine::new(policy().with_probes(probes).demanded());
        call(&mut machine, 0, FAILURE);
        call(&mut machine, 0, FAILURE);
        let passed: Vec<_> = (0..1_100)
            .filter_map(|_| machine.ticket(at(100), NONE, TIMEOUT).0.ok())
            .collect();
        assert_eq!(passed.len(), probes as usize);
        let (look, _) = machine.look(at(100), NONE);
        assert!(matches!(look, Look::Open(_)), "{look:?} with {probes} out");
        let moves: Vec<_> = passed
            .into_iter()
            .map(|probe| machine.report(at(110), NONE, probe, SUCCESS))
            .collect();
        let (last, before) = moves.split_last().expect("there is one");
        assert!(before.iter().all(Option::is_none), "the last one closes");
        assert_eq!(last.map(|closed| closed.to), Some(BreakerState::Closed));
    }
}

#[test]
fn a_dropped_probe_gives_its_place_back_and_counts_for_nothing() {
    let (mut machine, first) = half_open();
    let second = take(&mut machine, 100);
    assert_eq!(refused(&mut machine, 100), retry_after(50));
    assert_eq!(machine.report(at(110), NONE, first, Seen::Nothing), None);
    let third = take(&mut machine, 120);
    assert_eq!(machine.report(at(120), NONE, second, SUCCESS), None);
    let closed = machine.report(at(120), NONE, third, SUCCESS);
    assert_eq!(
        closed.map(|moved| moved.cause),
        Some(BreakerCause::ProbesSucceeded)
    );
}

#[test]
fn a_probe_that_gave_its_place_back_has_nothing_more_to_say() {
    let (mut machine, gone) = half_open();
    machine.give_back(at(100), gone);
    for seen in [FAILURE, SUCCESS, SUCCESS] {
        assert_eq!(machine.report(at(100), NONE, gone, seen), None);
    }
    assert_eq!(machine.state(), BreakerState::HalfOpen);
}

#[test]
fn a_probe_of_an_earlier_half_open_state_gives_back_nobodys_place() {
    let (mut machine, failed) = half_open();
    let late = take(&mut machine, 100);
    assert!(
        machine.report(at(100), NONE, failed, FAILURE).is_some(),
        "reopens"
    );
    let _new = [take(&mut machine, 300), take(&mut machine, 300)];
    machine.give_back(at(300), late);
    assert_eq!(refused(&mut machine, 300), retry_after(50), "both are out");
}

#[test]
fn a_hung_probe_expires_and_its_late_result_changes_nothing() {
    let (mut machine, hung) = half_open();
    assert_eq!(machine.look(at(150), NONE), (Look::HalfOpen, Moves::NONE));
    let (look, moves) = machine.look(at(151), NONE);
    // Reopened at 150, for twice 100 ms.
    assert_eq!(look, Look::Open(retry_after(199)));
    let causes: Vec<_> = moves.into_iter().map(|moved| moved.cause).collect();
    assert_eq!(causes, [BreakerCause::ProbeExpired]);
    for seen in [SUCCESS, FAILURE, Seen::Nothing] {
        assert_eq!(machine.report(at(152), NONE, hung, seen), None);
    }
    assert_eq!((machine.state(), machine.era()), (BreakerState::Open, 3));
}

#[test]
fn a_result_that_comes_at_the_last_moment_counts_and_one_later_is_late() {
    let (mut machine, first) = half_open();
    let second = take(&mut machine, 100);
    assert_eq!(machine.report(at(150), NONE, first, SUCCESS), None);
    let late = machine.report(Stamp(150 * MS + 1), NONE, second, SUCCESS);
    assert_eq!(
        late.map(|moved| moved.cause),
        Some(BreakerCause::ProbeExpired)
    );
}

#[test]
fn a_hung_probe_that_is_given_back_late_has_failed_all_the_same() {
    let (mut machine, hung) = half_open();
    machine.give_back(at(160), hung);
    let (_, moves) = machine.look(at(160), NONE);
    assert_eq!(moves.into_iter().count(), 1);
}

#[test]
fn a_breaker_that_nobody_asked_while_its_probe_hung_has_cooled_down_meanwhile() {
    let (mut machine, _hung) = half_open();
    let (result, moves) = machine.ticket(at(350), NONE, TIMEOUT);
    assert!(result.is_ok_and(Ticket::is_probe), "a probe");
    let causes: Vec<_> = moves.into_iter().map(|moved| moved.cause).collect();
    assert_eq!(
        causes,
        [BreakerCause::ProbeExpired, BreakerCause::CooledDown]
    );
}

#[test]
fn one_probe_that_fails_or_is_late_reopens_for_longer_each_time() {
    let mut machine = Machine::new(policy().with_slow(TIMEOUT).demanded());
    call(&mut machine, 0, FAILURE);
    call(&mut machine, 0, FAILURE);
    let mut now = 100;
    for (seen, cause, open_for) in [
        (FAILURE, BreakerCause::ProbeFailed, 200),
        (SLOW, BreakerCause::ProbeSlow, 300),
        (Seen::CutShort, BreakerCause::ProbeSlow, 300),
        (Seen::Failure { slow: true }, BreakerCause::ProbeFailed, 300),
    ] {
        let (first, second) = (take(&mut machine, now), take(&mut machine, now));
        assert_eq!(machine.report(at(now), NONE, first, SUCCESS), None);
        let opened = machine
            .report(at(now), NONE, second, seen)
            .expect("it reopens");
        let longer = Some(Duration::from_millis(open_for));
        assert_eq!((opened.cause, opened.open_for), (cause, longer));
        now += open_for;
    }
    call(&mut machine, now, SUCCESS);
    call(&mut machine, now, SUCCESS);
    call(&mut machine, now, FAILURE);
    let opened = call(&mut machine, now, FAILURE).expect("it trips");
    assert_eq!(opened.open_for, Some(Duration::from_millis(100)), "anew");
}

#[test]
fn a_new_probe_after_a_reopening_needs_all_successes_again() {
    let (mut machine, first) = half_open();
    let second = take(&mut machine, 100);
    assert_eq!(machine.report(at(100), NONE, first, SUCCESS), None);
    assert!(
        machine.report(at(100), NONE, second, FAILURE).is_some(),
        "reopens"
    );
    assert_eq!(call(&mut machine, 300, SUCCESS), None);
    assert!(call(&mut machine, 300, SUCCESS).is_some(), "it closes");
}

#[test]
fn late_results_of_the_closed_era_change_nothing_in_any_later_one() {
    let mut machine = machine();
    let late = take(&mut machine, 0);
    let seen_late = [
        SUCCESS,
        FAILURE,
        FAILURE,
        SLOW,
        Seen::CutShort,
        Seen::Nothing,
    ];
    let unmoved = |machine: &mut Machine, ms| {
        let before = (machine.state(), machine.era(), machine.totals(at(ms)));
        for seen in seen_late {
            assert_eq!(machine.report(at(ms), NONE, late, seen), None);
        }
        assert_eq!(
            (machine.state(), machine.era(), machine.totals(at(ms))),
            before
        );
    };
    call(&mut machine, 0, FAILURE);
    call(&mut machine, 0, FAILURE);
    unmoved(&mut machine, 0);
    call(&mut machine, 100, SUCCESS);
    unmoved(&mut machine, 100);
    call(&mut machine, 100, SUCCESS);
    assert_eq!(machine.state(), BreakerState::Closed);
    unmoved(&mut machine, 100);
}

#[test]
fn a_late_result_does_not_even_find_that_a_probe_has_hung() {
    let mut machine = machine();
    let late = take(&mut machine, 0);
    call(&mut machine, 0, FAILURE);
    call(&mut machine, 0, FAILURE);
    let _hung = take(&mut machine, 100);
    assert_eq!(machine.report(at(999), NONE, late, FAILURE), None);
}

#[test]
fn with_all_probes_out_nobody_is_sent_away_for_longer_than_open_for() {
    let mut machine = Machine::new(policy().with_probes(1).demanded());
    call(&mut machine, 0, FAILURE);
    call(&mut machine, 0, FAILURE);
    let (result, _) = machine.ticket(at(100), NONE, Duration::MAX);
    assert!(result.is_ok(), "a probe without an end");
    assert_eq!(refused(&mut machine, 110), retry_after(100));
    assert_eq!(machine.next_probe_at(at(110)), Some(at(210)));
}

/// Each state by way of legal moves, with its name.
fn each_state() -> [(BreakerState, Machine); 5] {
    let (mut forced, mut disabled) = (machine(), machine());
    assert!(forced.force_open().is_some(), "a move");
    assert!(disabled.disable().is_some(), "a move");
    [
        (BreakerState::Closed, machine()),
        (BreakerState::Open, open(0)),
        (BreakerState::HalfOpen, half_open().0),
        (BreakerState::ForcedOpen, forced),
        (BreakerState::Disabled, disabled),
    ]
}

#[test]
fn a_hand_moves_every_state_into_every_other_and_an_era_begins() {
    for (to, by_hand) in [
        (
            BreakerState::ForcedOpen,
            Machine::force_open as fn(&mut Machine) -> _,
        ),
        (BreakerState::Disabled, Machine::disable),
        (BreakerState::Closed, Machine::reset),
    ] {
        for (from, mut machine) in each_state() {
            let era = machine.era();
            let moved = by_hand(&mut machine);
            assert_eq!(machine.state(), to);
            if from == to {
                assert_eq!(moved, None);
                continue;
            }
            let expected = BreakerTransition {
                from,
                to,
                era: era + 1,
                cause: BreakerCause::ByHand,
                open_for: None,
            };
            assert_eq!(moved, Some(expected));
            assert_eq!(machine.era(), era + 1);
        }
    }
}

#[test]
fn states_set_by_hand_are_left_by_nothing_else() {
    for (state, pass) in [
        (BreakerState::ForcedOpen, false),
        (BreakerState::Disabled, true),
    ] {
        let (_, mut machine) = each_state()
            .into_iter()
            .find(|&(each, _)| each == state)
            .expect("it is one of them");
        for ms in [0, 1_000, 1_000_000] {
            let (result, moves) = machine.ticket(at(ms), NONE, TIMEOUT);
            assert_eq!((result.is_ok(), moves), (pass, Moves::NONE));
            for seen in [FAILURE, FAILURE, SUCCESS] {
                let Ok(ticket) = result else { continue };
                assert_eq!(machine.report(at(ms), NONE, ticket, seen), None);
            }
            let (look, _) = machine.look(at(ms), NONE);
            let shut = Rejected { retry_after: None };
            assert_eq!(look, if pass { Look::Pass } else { Look::Open(shut) });
            assert_eq!(machine.next_probe_at(at(ms)), None);
        }
        assert_eq!((machine.state(), machine.era()), (state, 1));
    }
}

#[test]
fn a_reset_while_closed_forgets_the_window_and_what_is_in_flight() {
    let mut machine = machine();
    call(&mut machine, 0, FAILURE);
    let before = take(&mut machine, 0);
    assert_eq!(machine.reset(), None);
    assert_eq!(machine.totals(at(0)), Totals::default());
    assert_eq!(machine.report(at(0), NONE, before, FAILURE), None);
    assert_eq!(call(&mut machine, 0, FAILURE), None, "the row begins anew");
    assert_eq!(machine.totals(at(0)).calls, 1);
}

#[test]
fn it_is_small_enough_to_have_one_in_every_partition() {
    assert!(
        size_of::<Machine>() <= 256,
        "{} bytes",
        size_of::<Machine>()
    );
}
