//! What a key that a list does not have was meant to be.

use syn::{Error, Ident};

use crate::keys::{Attribute, Key};

/// A key that does not exist, and the one that was probably meant: it counts as given, so that one
/// slip is not reported as missing too.
pub(crate) struct Unknown {
    pub(crate) meant: Option<Key>,
    pub(crate) error: Error,
}

pub(crate) fn key(list: Attribute, ident: &Ident, found: &str) -> Unknown {
    let unknown = |meant, text| Unknown {
        meant,
        error: Error::new(ident.span(), text),
    };
    if let Some((home, key)) = elsewhere(list, found) {
        let (meant, text) = belongs(list, home, key);
        return unknown(meant, text);
    }
    match meant(found, list.keys()) {
        Some((key, Likeness::Called)) => unknown(
            Some(key),
            format!(
                "unknown key `{found}`: it is called `{}` here",
                key.as_str()
            ),
        ),
        Some((key, Likeness::Typo)) => unknown(
            Some(key),
            format!(
                "unknown key `{found}`, did you mean `{}`?\nhelp: {}",
                key.as_str(),
                keys_of(list)
            ),
        ),
        None => unknown(
            None,
            format!("unknown key `{found}`\nhelp: {}", keys_of(list)),
        ),
    }
}

fn keys_of(list: Attribute) -> String {
    let keys: Vec<_> = list
        .keys()
        .iter()
        .map(|key| format!("`{}`", key.as_str()))
        .collect();
    format!("the keys are {}", keys.join(", "))
}

/// The key of another list, and that list.
fn elsewhere(list: Attribute, found: &str) -> Option<(Attribute, Key)> {
    let others = Attribute::ALL.into_iter().filter(|other| *other != list);
    others
        .flat_map(|other| other.keys().iter().map(move |key| (other, *key)))
        .find(|(_, key)| key.as_str() == found)
}

/// Where `key` belongs, and what was probably meant here.
fn belongs(list: Attribute, home: Attribute, key: Key) -> (Option<Key>, String) {
    let (name, form) = (key.as_str(), key.form());
    let on_function = format!("`#[bulkhead(path::TO_THE_PARTITION, {form})]`");
    let on_dependency = format!("`#[dependency(…, {form})]` on the module of its partitions");
    let in_measured = format!(
        "`{name}` belongs in `measured`: `{}`",
        Key::Measured.example()
    );
    match (list, home, key) {
        (Attribute::Dependency, _, Key::Name) => (
            None,
            "a dependency has the name of its module: remove `name`".to_owned(),
        ),
        (Attribute::Dependency, _, Key::Max) => (
            Some(Key::Capacity),
            "`max` is for each partition to say; what the dependency can take is its `capacity`".to_owned(),
        ),
        (Attribute::Dependency, _, Key::Reserve) => (
            Some(Key::Spare),
            "`reserve` is for each partition to say; what of the dependency stays free is its `spare`".to_owned(),
        ),
        (Attribute::Dependency, Attribute::Partition | Attribute::Measured, _) => {
            (None, format!("`{name}` is for each partition to say: remove it here"))
        }
        (Attribute::Bulkhead, Attribute::Partition, _) => (
            None,
            format!(
                "`{name}` belongs on the partition, not on the function: declare `#[partition(name = …, max = …, {form})] static NAME: Partition;` and write `#[bulkhead(NAME)]`"
            ),
        ),
        (Attribute::Partition | Attribute::Bulkhead, Attribute::Dependency, _) => (
            None,
            format!("`{name}` belongs on the dependency: {on_dependency}"),
        ),
        (Attribute::Measured, Attribute::Dependency, _) => (
            None,
            format!("`{name}` was not measured and belongs on the dependency: {on_dependency}"),
        ),
        (Attribute::Measured, _, _) => (
            None,
            format!("`{name}` was not measured: it belongs outside of `measured(…)`"),
        ),
        (Attribute::Partition, Attribute::Bulkhead, _) => (
            None,
            format!("`{name}` belongs on the function, not on the partition: {on_function}"),
        ),
        (Attribute::Dependency, _, _) => (
            None,
            format!("`{name}` belongs on the function, not on the dependency: {on_function}"),
        ),
        (Attribute::Bulkhead, _, _) => (None, format!("{in_measured}, which belongs on the partition")),
        (Attribute::Partition, _, _) => (None, in_measured),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Likeness {
    /// What other libraries call it.
    Called,
    Typo,
}

fn meant(found: &str, keys: &[Key]) -> Option<(Key, Likeness)> {
    let called = keys
        .iter()
        .find(|key| elsewhere_called(**key).contains(&found));
    if let Some(key) = called {
        return Some((*key, Likeness::Called));
    }
    let prefix = keys.iter().find(|key| is_prefix(found, key.as_str()));
    let near =
        || (1..=2).find_map(|slips| keys.iter().find(|key| is_near(slips, found, key.as_str())));
    prefix.or_else(near).map(|key| (*key, Likeness::Typo))
}

/// What other libraries, and papers, call it.
fn elsewhere_called(key: Key) -> &'static [&'static str] {
    match key {
        Key::Max => &[
            "limit",
            "permits",
            "max_concurrent",
            "max_calls",
            "max_permits",
            "maxConcurrentCalls",
            "max_concurrent_calls",
            "concurrency",
            "core_size",
            "size",
        ],
        Key::Queue => &["queue_size", "max_queue", "queue_len", "max_waiting"],
        Key::Wait => &[
            "max_wait",
            "wait_timeout",
            "queue_timeout",
            "maxWaitDuration",
        ],
        Key::Timeout => &["time_limit", "call_timeout", "max_time"],
        Key::Name => &["label"],
        Key::Reserve => &["reserved", "critical", "min_critical"],
        Key::PerKey => &[
            "per_tenant",
            "per_client",
            "per_user",
            "per_caller",
            "max_per_key",
            "max_per_tenant",
        ],
        Key::Measured => &["traffic", "load", "profile"],
        Key::Rate => &[
            "rps",
            "qps",
            "tps",
            "arrival_rate",
            "lambda",
            "throughput",
            "calls_per_second",
            "requests_per_second",
        ],
        Key::Mean => &[
            "latency",
            "service_time",
            "avg",
            "average",
            "duration",
            "response_time",
        ],
        Key::Shed => &["loss", "rejected", "max_rejected", "blocking", "drop"],
        Key::Capacity => &[
            "connections",
            "max_connections",
            "total",
            "pool_size",
            "limit",
            "size",
        ],
        Key::Spare => &[
            "reserved",
            "headroom",
            "free",
            "margin",
            "superuser_reserved_connections",
        ],
        Key::Replicas => &[
            "instances",
            "pods",
            "nodes",
            "hosts",
            "processes",
            "max_replicas",
            "maxReplicas",
        ],
        Key::Status | Key::Reject | Key::Classify | Key::Crate => &[],
    }
}

fn is_prefix(found: &str, key: &str) -> bool {
    found.len() >= 3 && (key.starts_with(found) || found.starts_with(key))
}

/// So many slips, and no more than half of what was written: of `min`, two out of three letters
/// are wrong, and that is no slip for `max`. Neither is `state` one for `crate`: who errs twice has
/// the first letter right.
fn is_near(slips: usize, found: &str, key: &str) -> bool {
    let (found, key) = (found.as_bytes(), key.as_bytes());
    let begins_alike = slips == 1 || found.first() == key.first();
    begins_alike && slips * 2 <= found.len() && within(slips, found, key)
}

/// Whether so many slips turn `a` into `b`: a letter too many, too few or wrong, or two neighbours
/// in the wrong order (the optimal string alignment distance).
fn within(slips: usize, a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len() <= slips,
        ([x, a @ ..], [y, b @ ..]) if x == y => within(slips, a, b),
        _ if slips == 0 => false,
        _ if is_swapped(a, b) && within(slips - 1, &a[2..], &b[2..]) => true,
        ([_, a_rest @ ..], [_, b_rest @ ..]) => {
            let one_less = [(a_rest, b), (a, b_rest), (a_rest, b_rest)];
            one_less.iter().any(|(a, b)| within(slips - 1, a, b))
        }
    }
}

fn is_swapped(a: &[u8], b: &[u8]) -> bool {
    a.len() >= 2 && b.len() >= 2 && a[0] == b[1] && a[1] == b[0]
}

#[cfg(test)]
mod tests {
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
        ] {
            let called = Some((key, Likeness::Called));
            assert_eq!(meant(found, list.keys()), called, "{found}");
        }
    }

    #[test]
    fn the_key_of_another_list_is_sent_there() {
        for (list, found, expected) in [
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
                Attribute::Measured,
                "max",
                "`max` was not measured: it belongs outside of `measured(…)`",
            ),
            (
                Attribute::Measured,
                "crate",
                "`crate` was not measured: it belongs outside of `measured(…)`",
            ),
        ] {
            let ident = Ident::new("key", proc_macro2::Span::call_site());
            let text = key(list, &ident, found).error.to_string();
            assert!(text.starts_with(expected), "{found}: {text}");
        }
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_is_merely_short() {
        for found in ["min", "key", "colour", "deadline", "reserve", "state", "x"] {
            assert_eq!(meant_on_bulkhead(found), None, "{found}");
        }
    }
}
