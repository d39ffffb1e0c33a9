//! Every rule about a value, at run time; the same rules while compiling are UI tests.

use std::time::Duration;

use bulkhead_runtime::{
    MAX_DURATION, MAX_PERMITS, MAX_QUEUE, Measured, Policy, PolicyError, register,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn numbers_that_arrive_at_run_time_get_an_error_that_says_what_to_write() {
    let with_queue = |len, wait| Policy::checked(4).unwrap().checked_queue(len, wait);
    for (result, text) in [
        (
            Policy::checked(0),
            "`max` must be at least 1: with 0 every call would be rejected",
        ),
        (
            Policy::checked(MAX_PERMITS + 1),
            "`max` is too large: the limit is 1048576",
        ),
        (
            with_queue(MAX_QUEUE + 1, ms(5)),
            "`queue` is too large: the limit is 1048576",
        ),
        (
            with_queue(0, ms(5)),
            "`wait` has no effect without a queue: set `queue` to 1 or more, or remove `wait`",
        ),
        (
            with_queue(1, Duration::ZERO),
            "`wait` must be at least 1 ms, the finest that the timer knows; to reject at once use `queue = 0`",
        ),
        (
            with_queue(1, MAX_DURATION + ms(1)),
            "`wait` is too long: the limit is 365 days",
        ),
        (
            Policy::new(4).checked_reserve(4),
            "`reserve = 4` leaves nothing of `max = 4` for calls that are not critical: it must be smaller",
        ),
        (
            Policy::new(4).checked_per_key(0),
            "`per_key` must be at least 1: with 0 every call with a key would be rejected",
        ),
        (
            Policy::new(4).checked_per_key(5),
            "`per_key = 5` is more than there is: `max = 4`",
        ),
        (
            Policy::new(4).checked_status(500),
            "`status` must be 503 or 429, found 500: no other status tells a client to come back later",
        ),
        (
            Policy::new(20)
                .with_queue(20, ms(25))
                .checked_measured(Measured::new(200, ms(40))),
            "of `queue = 20` the last 8 are dead: on average 20 permits at 40 ms a call serve 12 within `wait` (25ms); \
             write `queue = 12` or a longer `wait`",
        ),
        (
            Policy::new(1)
                .with_queue(1, ms(1))
                .checked_measured(Measured::new(1, ms(9))),
            "of `queue = 1` the last 1 is dead: on average 1 permit at 9 ms a call serves 0 within `wait` (1ms); \
             write a longer `wait`, or leave out `queue` and `wait`",
        ),
        (
            Policy::new(10).checked_measured(Measured::new(447, ms(10))),
            "`max = 10` at 447 calls a second of 10 ms rejects about 1.01 %, and `shed` allows 1.0 %; \
             max = 11 rejects 0.4 %",
        ),
        (
            Policy::new(2).checked_measured(Measured::new(40, ms(50)).with_shed(0.5)),
            "`max = 2` at 40 calls a second of 50 ms rejects about 40.0 %, and `shed` allows 0.5 %; \
             max = 6 rejects 1.2 %, max = 7 rejects 0.3 %",
        ),
    ] {
        assert_eq!(result.unwrap_err().to_string(), text);
    }
}

#[test]
fn traffic_that_nobody_can_have_measured_is_refused() {
    for (measured, text) in [
        (
            (0, ms(1), 1.0),
            "`rate` must be above 0: the calls a second that were measured at peak",
        ),
        (
            (1, ms(0), 1.0),
            "`mean` must be above 0: the mean time of a call, as it was measured",
        ),
        (
            (1, MAX_DURATION + ms(1), 1.0),
            "`mean` is too long: the limit is 365 days",
        ),
        (
            (1, ms(1), 0.0),
            "`shed` must be above 0 %: calls do not arrive evenly, and every `max` rejects some of them",
        ),
        (
            (1, ms(1), 100.0),
            "`shed` must be below 100 %: at 100 % every call could be rejected",
        ),
        (
            (1, ms(1), f64::NAN),
            "`shed` must be above 0 %: calls do not arrive evenly, and every `max` rejects some of them",
        ),
    ] {
        let (rate, mean, shed) = measured;
        let panicked =
            std::panic::catch_unwind(|| Measured::new(rate, mean).with_shed(shed)).unwrap_err();
        assert_eq!(panicked.downcast_ref::<String>().unwrap(), text);
    }
}

#[test]
fn the_bounds_themselves_are_legal() {
    let policy = Policy::checked(MAX_PERMITS)
        .unwrap()
        .checked_queue(MAX_QUEUE, MAX_DURATION)
        .unwrap();
    assert_eq!(
        (policy.max(), policy.queue(), policy.wait()),
        (MAX_PERMITS, MAX_QUEUE, MAX_DURATION)
    );
    let policy = Policy::checked(1).unwrap().checked_queue(1, ms(1)).unwrap();
    assert_eq!((policy.max(), policy.queue(), policy.wait()), (1, 1, ms(1)));
    assert_eq!(Policy::new(1).with_queue(0, Duration::ZERO), Policy::new(1));
}

#[test]
#[should_panic(expected = "`max` must be at least 1: with 0 every call would be rejected")]
fn an_illegal_policy_at_run_time_panics() {
    let _ = Policy::new(std::hint::black_box(0));
}

#[test]
fn names_are_what_every_metrics_system_takes() {
    for (name, text) in [
        ("", "`name` cannot be empty"),
        (" report", "`name` cannot begin or end with white space"),
        ("report\n", "`name` cannot begin or end with white space"),
        (
            "re\nport",
            r"`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `\n` at position 2",
        ),
        (
            "Report",
            "`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `R` at position 0",
        ),
        (
            "4report",
            "`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `4` at position 0",
        ),
        (
            "größe",
            "`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `ö` at position 2",
        ),
        (
            "a/b",
            "`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `/` at position 1",
        ),
        (
            "user-{",
            "`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `{` at position 5",
        ),
        (
            "user-{id}",
            "`name` is fixed at compile time, `{id}` is not filled in",
        ),
        (
            "user-{an_id_with_a_very_long_name}",
            "`name` may contain `a-z 0-9 _ - .` and starts with a letter; found `{` at position 5",
        ),
        (
            &"a".repeat(71),
            "`name` is too long: 71 bytes, the limit is 64",
        ),
    ] {
        assert_eq!(
            register(name, Policy::new(1)).unwrap_err().to_string(),
            text,
            "for {name:?}"
        );
    }
    register(&"a".repeat(64), Policy::new(1)).expect("64 bytes are legal");
    register("a.b-c_d9", Policy::new(1)).expect("all kinds of characters");
}

#[test]
fn an_error_tells_its_kind() {
    assert_eq!(Policy::checked(0).unwrap_err(), PolicyError::MaxZero);
}
