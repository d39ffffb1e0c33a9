//! Every rule about a value, at run time; the same rules while compiling are UI tests.

use std::time::Duration;

use bulkhead_runtime::{MAX_DURATION, MAX_PERMITS, MAX_QUEUE, Policy, PolicyError, register};

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
    ] {
        assert_eq!(result.unwrap_err().to_string(), text);
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
