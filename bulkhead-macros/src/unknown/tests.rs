use super::*;

fn meant_on_bulkhead(found: &str) -> Option<(Key, Likeness)> {
    meant(found, Attribute::Bulkhead.keys())
}

#[test]
fn slips_and_prefixes_find_their_key() {
    for (found, key) in [
        ("mx", Key::Max),
        ("nmae", Key::Name),
        ("time", Key::Timeout),
        ("timeout_ms", Key::Timeout),
        ("quueue", Key::Queue),
        ("clasify", Key::Classify),
    ] {
        assert_eq!(
            meant_on_bulkhead(found),
            Some((key, Likeness::Typo)),
            "{found}"
        );
    }
}

#[test]
fn what_other_libraries_say_finds_its_key() {
    assert_eq!(
        meant_on_bulkhead("max_wait"),
        Some((Key::Wait, Likeness::Called))
    );
    assert_eq!(
        meant_on_bulkhead("maxConcurrentCalls"),
        Some((Key::Max, Likeness::Called))
    );
    assert_eq!(meant("time_limit", Attribute::Partition.keys()), None);
    for (list, found, key) in [
        (Attribute::Partition, "reserved", Key::Reserve),
        (Attribute::Dependency, "reserved", Key::Spare),
        (Attribute::Partition, "per_tenant", Key::PerKey),
        (Attribute::Measured, "rps", Key::Rate),
        (Attribute::Dependency, "pods", Key::Replicas),
        (Attribute::Dependency, "limit", Key::Capacity),
        (Attribute::Partition, "limit", Key::Max),
        (Attribute::Partition, "circuit_breaker", Key::Breaker),
        (Attribute::Bulkhead, "budget", Key::Deadline),
        (Attribute::Breaker, "failure_threshold", Key::FailureRate),
        (Attribute::Breaker, "failureRateThreshold", Key::FailureRate),
        (
            Attribute::Breaker,
            "slow_call_rate_threshold",
            Key::SlowRate,
        ),
        (Attribute::Breaker, "sliding_window", Key::Window),
        (Attribute::Breaker, "window_size", Key::Window),
        (Attribute::Breaker, "min_requests", Key::MinCalls),
        (Attribute::Breaker, "consecutive_failures", Key::Consecutive),
        (
            Attribute::Breaker,
            "slow_call_duration_threshold",
            Key::Slow,
        ),
        (Attribute::Breaker, "open_duration", Key::OpenFor),
        (
            Attribute::Breaker,
            "wait_duration_in_open_state",
            Key::OpenFor,
        ),
        (Attribute::Breaker, "cooldown", Key::OpenFor),
        (Attribute::Breaker, "max_cooldown", Key::MaxOpenFor),
        (Attribute::Breaker, "half_open_max_calls", Key::Probes),
        (Attribute::Breaker, "max_requests", Key::Probes),
        (Attribute::Bulkhead, "max_requests", Key::Max),
    ] {
        let called = Some((key, Likeness::Called));
        assert_eq!(meant(found, list.keys()), called, "{found}");
    }
}

#[track_caller]
fn begins(cases: &[(Attribute, &str, &str)]) {
    for (list, found, expected) in cases {
        let ident = Ident::new("key", proc_macro2::Span::call_site());
        let text = key(*list, &ident, found).error.to_string();
        assert!(text.starts_with(expected), "{found}: {text}");
    }
}

#[test]
fn the_key_of_another_list_is_sent_there() {
    begins(&[
        (
            Attribute::Bulkhead,
            "measured",
            "`measured` belongs on the partition, not on the function: declare `#[partition(name = …, max = …, measured(…))]",
        ),
        (
            Attribute::Bulkhead,
            "per_key",
            "`per_key` belongs on the partition, not on the function: declare `#[partition(name = …, max = …, per_key = …)]",
        ),
        (
            Attribute::Partition,
            "timeout",
            "`timeout` belongs on the function, not on the partition: `#[bulkhead(",
        ),
        (
            Attribute::Partition,
            "rate",
            "`rate` belongs in `measured`: `measured(rate = 40, mean = 80ms)`",
        ),
        (
            Attribute::Partition,
            "replicas",
            "`replicas` belongs on the dependency: `#[dependency(…, replicas = …)]`",
        ),
        (
            Attribute::Dependency,
            "timeout",
            "`timeout` belongs on the function, not on the dependency",
        ),
        (
            Attribute::Dependency,
            "queue",
            "`queue` is for each partition to say",
        ),
        (
            Attribute::Partition,
            "deadline",
            "`deadline` belongs on the function, not on the partition: `#[bulkhead(path::TO_THE_PARTITION, deadline = …)]`",
        ),
        (
            Attribute::Measured,
            "max",
            "`max` was not measured: it belongs outside of `measured(…)`",
        ),
        (
            Attribute::Measured,
            "crate",
            "`crate` was not measured: it belongs outside of `measured(…)`",
        ),
        (
            Attribute::Dependency,
            "breaker",
            "`breaker` is for each partition to say: remove it here",
        ),
        (
            Attribute::Dependency,
            "margin",
            "`margin` is for each function to say; what of the dependency stays free is its `spare`",
        ),
    ]);
}

#[test]
fn the_key_of_a_list_inside_is_sent_in_and_out() {
    begins(&[
        (
            Attribute::Bulkhead,
            "probes",
            "`probes` belongs in `breaker`: `breaker(probes = 2)`",
        ),
        (
            Attribute::Bulkhead,
            "shed",
            "`shed` belongs in `measured`: `measured(rate = 40, mean = 80ms, shed = 1%)`, which belongs on the partition",
        ),
        (
            Attribute::Bulkhead,
            "reset_timeout",
            "unknown key `reset_timeout`: it is called `open_for` here, and belongs in `breaker`: `breaker(open_for = 30s)`",
        ),
        (
            Attribute::Partition,
            "qps",
            "unknown key `qps`: it is called `rate` here, and belongs in `measured`: `measured(rate = 40, mean = 80ms)`",
        ),
        (
            Attribute::Breaker,
            "timeout",
            "`timeout` bounds each call and belongs outside of `breaker(…)`; how long the breaker stays open is its `open_for`",
        ),
        (
            Attribute::Breaker,
            "rate",
            "`rate` belongs in `measured`; the share of failures that opens a breaker is its `failure_rate`",
        ),
        (
            Attribute::Breaker,
            "queue",
            "`queue` is no setting of a breaker: it belongs outside of `breaker(…)`",
        ),
        (
            Attribute::Measured,
            "window",
            "`window` was not measured and belongs in `breaker`: `breaker(window = 10s)`",
        ),
    ]);
}

#[test]
fn nothing_is_suggested_for_a_word_that_is_merely_short() {
    for found in ["min", "key", "colour", "reserve", "state", "x"] {
        assert_eq!(meant_on_bulkhead(found), None, "{found}");
    }
}
