//! The keys, which attribute takes which, and what a wrong one was meant to be.

use syn::{Error, Ident, ext::IdentExt};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Name,
    Max,
    Queue,
    Wait,
    Status,
    Timeout,
    Reject,
    Classify,
    Crate,
}

/// The attribute whose keys are being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    Bulkhead,
    Partition,
}

impl Key {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Max => "max",
            Self::Queue => "queue",
            Self::Wait => "wait",
            Self::Status => "status",
            Self::Timeout => "timeout",
            Self::Reject => "reject",
            Self::Classify => "classify",
            Self::Crate => "crate",
        }
    }

    /// What to write, for the end of an error.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Name => "name = \"report\"",
            Self::Max => "max = 4",
            Self::Queue => "queue = 8",
            Self::Wait => "wait = 25ms",
            Self::Status => "status = 429",
            Self::Timeout => "timeout = 500ms",
            Self::Reject => "reject = to_my_error",
            Self::Classify => "classify = verdict",
            Self::Crate => "crate = ::my_facade::bulkhead",
        }
    }
}

impl Attribute {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bulkhead => "#[bulkhead]",
            Self::Partition => "#[partition]",
        }
    }

    fn keys(self) -> &'static [Key] {
        use Key::{Classify, Crate, Max, Name, Queue, Reject, Status, Timeout, Wait};
        match self {
            Self::Bulkhead => &[Name, Max, Queue, Wait, Timeout, Reject, Classify, Crate],
            Self::Partition => &[Name, Max, Queue, Wait, Status, Crate],
        }
    }

    /// The key that `ident` names.
    pub(crate) fn key(self, ident: &Ident) -> Result<Key, Unknown> {
        let found = ident.unraw().to_string();
        let spelled = |key: &&Key| key.as_str() == found;
        if let Some(key) = self.keys().iter().find(spelled) {
            return Ok(*key);
        }
        let meant = meant(&found, self.keys());
        let text = match meant {
            _ if self.other().keys().iter().any(|key| spelled(&key)) => {
                return Err(self.elsewhere(ident, &found));
            }
            Some((key, Likeness::Called)) => format!(
                "unknown key `{found}`: it is called `{}` here",
                key.as_str()
            ),
            Some((key, Likeness::Typo)) => {
                format!(
                    "unknown key `{found}`, did you mean `{}`?\nhelp: {}",
                    key.as_str(),
                    self.list()
                )
            }
            None => format!("unknown key `{found}`\nhelp: {}", self.list()),
        };
        Err(Unknown {
            meant: meant.map(|(key, _)| key),
            error: Error::new(ident.span(), text),
        })
    }

    fn other(self) -> Self {
        match self {
            Self::Bulkhead => Self::Partition,
            Self::Partition => Self::Bulkhead,
        }
    }

    /// `found` is a key of the other attribute.
    fn elsewhere(self, ident: &Ident, found: &str) -> Unknown {
        let text = match self {
            Self::Bulkhead => format!(
                "`{found}` belongs on the partition, not on the function: declare `#[partition(name = …, max = …, {found} = …)] static NAME: Partition;` and write `#[bulkhead(NAME)]`"
            ),
            Self::Partition => format!(
                "`{found}` belongs on the function, not on the partition: `#[bulkhead(path::TO_THE_PARTITION, {found} = …)]`"
            ),
        };
        Unknown {
            meant: None,
            error: Error::new(ident.span(), text),
        }
    }

    fn list(self) -> String {
        let keys: Vec<_> = self
            .keys()
            .iter()
            .map(|key| format!("`{}`", key.as_str()))
            .collect();
        format!("the keys are {}", keys.join(", "))
    }
}

/// A key that does not exist, and the one that was probably meant: it counts as given, so that one
/// slip is not reported as missing too.
pub(crate) struct Unknown {
    pub(crate) meant: Option<Key>,
    pub(crate) error: Error,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Likeness {
    /// What other libraries call it.
    Called,
    Typo,
}

fn meant(found: &str, keys: &[Key]) -> Option<(Key, Likeness)> {
    let called = match found {
        "limit"
        | "permits"
        | "max_concurrent"
        | "max_calls"
        | "max_permits"
        | "maxConcurrentCalls"
        | "max_concurrent_calls"
        | "concurrency"
        | "core_size"
        | "size" => Some(Key::Max),
        "queue_size" | "max_queue" | "queue_len" | "max_waiting" => Some(Key::Queue),
        "max_wait" | "wait_timeout" | "queue_timeout" | "maxWaitDuration" => Some(Key::Wait),
        "time_limit" | "call_timeout" | "max_time" => Some(Key::Timeout),
        "label" => Some(Key::Name),
        _ => None,
    };
    if let Some(key) = called.filter(|key| keys.contains(key)) {
        return Some((key, Likeness::Called));
    }
    let prefix = keys.iter().find(|key| is_prefix(found, key.as_str()));
    let near =
        || (1..=2).find_map(|slips| keys.iter().find(|key| is_near(slips, found, key.as_str())));
    prefix.or_else(near).map(|key| (*key, Likeness::Typo))
}

fn is_prefix(found: &str, key: &str) -> bool {
    found.len() >= 3 && (key.starts_with(found) || found.starts_with(key))
}

/// So many slips, and no more than half of what was written: of `min`, two out of three letters
/// are wrong, and that is no slip for `max`.
fn is_near(slips: usize, found: &str, key: &str) -> bool {
    slips * 2 <= found.len() && within(slips, found.as_bytes(), key.as_bytes())
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
    }

    #[test]
    fn nothing_is_suggested_for_a_word_that_is_merely_short() {
        for found in ["min", "key", "colour", "deadline", "reserve", "state", "x"] {
            assert_eq!(meant_on_bulkhead(found), None, "{found}");
        }
    }
}
