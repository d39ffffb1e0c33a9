use super::*;
use crate::args::Slot;

fn parsed(attribute: Attribute, list: &str) -> (Args, Vec<String>) {
    let (mut args, mut errors) = read(attribute, list.parse().expect("the list is made of tokens"));
    errors.extend(args.missing(attribute, Span::call_site()));
    errors.extend(args.told_twice());
    (args, errors.texts())
}

fn errors(list: &str) -> Vec<String> {
    parsed(Attribute::Bulkhead, list).1
}

#[track_caller]
fn only_error(list: &str, expected: &str) {
    let found = errors(list);
    assert!(
        found.len() == 1 && found[0].starts_with(expected),
        "{list}\nfound: {found:#?}"
    );
}

#[test]
fn a_complete_list_fills_its_slots() {
    let list = r#"name = "report", max = LIMITS[0] * 2, queue = 1_000, wait = 25ms, timeout = 1.5s,
                  reject = |e| f::<A, B>(e, 1), classify = own::verdict, crate = crate::facade,"#;
    let (args, errors) = parsed(Attribute::Bulkhead, list);
    assert_eq!(errors, Vec::<String>::new());
    let tokens = |slot: &Slot| slot.value().map(|value| value.tokens.to_string());
    assert_eq!(tokens(&args.max).as_deref(), Some("LIMITS [0] * 2"));
    assert_eq!(tokens(&args.queue).as_deref(), Some("1000"));
    assert_eq!(
        tokens(&args.timeout).as_deref(),
        Some(":: core :: time :: Duration :: new (1u64 , 500000000u32)")
    );
    assert_eq!(
        tokens(&args.reject).as_deref(),
        Some("| e | f ::< A , B > (e , 1)")
    );
}

#[test]
fn a_path_stands_for_the_four_keys() {
    for list in [
        "postgres::CHECKOUT",
        "CHECKOUT, timeout = 2s",
        "crate::db::A",
        "<X as Y>::A",
        "::other::A,",
    ] {
        assert_eq!(errors(list), Vec::<String>::new(), "{list}");
    }
    only_error(
        "postgres::CHECKOUT, max = 4",
        "`max` is for the declaration of `postgres::CHECKOUT` to say",
    );
    only_error(
        "timeout = 2s, postgres::CHECKOUT",
        "the path of the partition comes first",
    );
    only_error(
        "self.partition",
        "a partition is fixed at compile time and cannot come from `self`",
    );
    only_error(
        "report",
        "expected `name = \"report\"`, or the path of a partition",
    );
}

#[test]
fn what_is_missing_is_said_once() {
    only_error(
        "",
        "missing `name` and `max`: write `#[bulkhead(name = \"report\", max = 4)]`",
    );
    only_error("max = 4", "missing `name`");
    only_error("name = \"x\"", "missing `max`");
    only_error(
        "name = \"x\", mx = 4",
        "unknown key `mx`, did you mean `max`?",
    );
    only_error(
        "name = \"x\", limit = 4",
        "unknown key `limit`: it is called `max` here",
    );
    only_error(
        "\"x\", max = 4",
        "keys are written `key = value`: `name = \"x\"`",
    );
}

#[test]
fn each_slip_between_key_and_value_has_its_error() {
    only_error("name: \"x\", max = 4", "expected `=` after `name`");
    only_error("name(\"x\"), max = 4", "expected `=` after `name`");
    only_error("name == \"x\", max = 4", "expected `=` after `name`");
    only_error("name = \"x\", max", "`max` needs a value: `max = 4`");
    only_error("name = \"x\", max =", "`max` needs a value: `max = 4`");
    only_error(
        "name = \"x\", max = , timeout = 2s",
        "`max` needs a value: `max = 4`",
    );
    only_error("name = \"x\" max = 4", "expected `,` before `max`");
    only_error(
        "name = \"x\", max = 4;",
        "expected `,` or the end of the list",
    );
    only_error(
        "name = \"x\", max = 4 + , timeout = 2s",
        "expected a value: `max = 4`",
    );
    only_error("name = \"x\", max = 4, max = 8", "`max` is given twice");
    only_error(
        "name = \"x\", max = 4, , timeout = 2s",
        "expected a key before this comma",
    );
    only_error(
        "#[cfg(x)] name = \"x\", max = 4",
        "keys cannot carry attributes",
    );
    only_error(
        "name = \"x\", max = 4, timeout = 25 ms",
        "no space between a number and its unit: `timeout = 25ms`",
    );
}

#[test]
fn five_mistakes_give_five_errors() {
    let found =
        errors("nme = \"x\", max = -1, queue = 4.0, colour = 1, timeout = 500, name = \"x\"");
    assert_eq!(found.len(), 6, "{found:#?}");
    let found = errors("\"x\", max = \"4\" wait = 25 ms, queue 4, timeout = 5min");
    assert_eq!(found.len(), 6, "{found:#?}");
}

#[test]
fn a_list_inside_of_the_list_fills_its_slots() {
    let list =
        r#"name = "x", max = 4, measured(rate = RATE * 2, mean = 1.5s, shed = 0.5%), reserve = 2"#;
    let (args, errors) = parsed(Attribute::Partition, list);
    assert_eq!(errors, Vec::<String>::new());
    let tokens = |slot: &Slot| slot.value().map(|value| value.tokens.to_string());
    assert_eq!(tokens(&args.rate).as_deref(), Some("RATE * 2"));
    assert_eq!(tokens(&args.shed).as_deref(), Some("5000"));
    assert_eq!(tokens(&args.reserve).as_deref(), Some("2"));
}

#[test]
fn each_slip_of_a_list_inside_has_its_error() {
    for (entry, expected) in [
        ("measured = 4", "`measured` takes a list and no `=`"),
        ("measured", "`measured` needs a list: `measured("),
        ("measured: (rate = 1)", "expected `(` after `measured`"),
        ("measured()", "missing `rate` and `mean`: write `measured("),
        ("measured(mean = 5ms)", "missing `rate`: write `rate = 40`"),
        ("measured(rate(4), mean = 5ms)", "expected `=` after `rate`"),
        (
            "measured(4, mean = 5ms)",
            "keys are written `key = value`: `rate = 4`",
        ),
        (
            "measured(rate = 4, 5ms)",
            "keys are written `key = value`: `mean = 5ms`",
        ),
        (
            "measured(rate = 4, mean = 5ms, 1%)",
            "keys are written `key = value`: `shed = 1%`",
        ),
        (
            "measured(rate = 4, mean = 5ms; )",
            "expected `,` or the end of the list",
        ),
        (
            "measured(rate = 4, mean = 5 ms)",
            "no space between a number and its unit: `mean = 5ms`",
        ),
        (
            "measured(rate = 4, mean = 5ms, shed = 1 % 2)",
            "expected `,` or the end of the list",
        ),
    ] {
        let list = format!("name = \"x\", max = 4, {entry}");
        let (_, errors) = parsed(Attribute::Partition, &list);
        assert!(
            errors.len() == 1 && errors[0].starts_with(expected),
            "{entry}: {errors:#?}"
        );
    }
}

#[test]
fn a_breaker_has_nothing_that_must_be_said() {
    for attribute in [Attribute::Bulkhead, Attribute::Partition] {
        let (args, errors) = parsed(attribute, "name = \"x\", max = 4, breaker()");
        assert_eq!(errors, Vec::<String>::new());
        assert!(args.breaker.value().is_some() && args.probes.is_absent());
    }
    let list = "A, deadline = 3s, margin = 150ms, breaker(failure_rate = 0.5%, probes = PROBES, slow = 2s)";
    let (args, errors) = parsed(Attribute::Bulkhead, list);
    assert_eq!(errors, Vec::<String>::new());
    let tokens = |slot: &Slot| slot.value().map(|value| value.tokens.to_string());
    assert_eq!(tokens(&args.failure_rate).as_deref(), Some("5000"));
    assert_eq!(tokens(&args.probes).as_deref(), Some("PROBES"));
    assert_eq!(
        tokens(&args.slow).as_deref(),
        Some(":: core :: time :: Duration :: new (2u64 , 0u32)")
    );
}

#[test]
fn each_slip_of_a_breaker_has_its_error() {
    for (entry, expected) in [
        ("breaker", "`breaker` needs a list: `breaker("),
        ("breaker = 50%", "`breaker` takes a list and no `=`"),
        ("breaker[]", "expected `(` after `breaker`"),
        (
            "breaker(50%)",
            "keys are written `key = value`: `failure_rate = 50%`",
        ),
        (
            "breaker(failure_rate = 50%, 30%)",
            "keys are written `key = value`: `slow_rate = 30%`",
        ),
        (
            "breaker(10s)",
            "keys are written `key = value`: `window = 10s`",
        ),
        (
            "breaker(20)",
            "keys are written `key = value`: `min_calls = 20`",
        ),
        (
            "breaker(LIMIT)",
            "keys are written `key = value`: `failure_rate = LIMIT`",
        ),
        (
            "breaker(window = 10 s)",
            "no space between a number and its unit: `window = 10s`",
        ),
    ] {
        let list = format!("name = \"x\", max = 4, {entry}");
        let (_, errors) = parsed(Attribute::Bulkhead, &list);
        assert!(
            errors.len() == 1 && errors[0].starts_with(expected),
            "{entry}: {errors:#?}"
        );
    }
}

#[test]
fn a_dependency_takes_keys_only() {
    for (list, expected) in [
        ("capacity = 30, replicas = 4", None),
        ("", Some("missing `capacity` and `replicas`")),
        (
            "30, replicas = 4",
            Some("keys are written `key = value`: `capacity = 30`"),
        ),
        (
            "capacity = 30, LIMITS::REPLICAS",
            Some("keys are written `key = value`: `replicas = LIMITS::REPLICAS`"),
        ),
        (
            "capacity = 30, max = 4, replicas = 4",
            Some("`max` is for each partition to say"),
        ),
        (
            "capacity = 30, spare = 1%, replicas = 4",
            Some("expected a value: `spare = 3`"),
        ),
    ] {
        let (_, errors) = parsed(Attribute::Dependency, list);
        let expected = Vec::from_iter(expected);
        assert!(
            errors.len() == expected.len()
                && errors
                    .iter()
                    .zip(&expected)
                    .all(|(error, text)| error.starts_with(text)),
            "{list}: {errors:#?}"
        );
    }
}

#[test]
fn the_keys_of_a_function_are_sent_there() {
    let (_, errors) = parsed(Attribute::Partition, "name = \"x\", max = 4, timeout = 2s");
    assert!(
        errors.len() == 1 && errors[0].starts_with("`timeout` belongs on the function"),
        "{errors:?}"
    );
    let (_, errors) = parsed(Attribute::Partition, "X, name = \"x\", max = 4");
    assert!(errors.len() == 1, "{errors:?}");
}
