//! What a key that a list does not have was meant to be.

use syn::{Error, Ident};

use crate::called;
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
                "unknown key `{found}`: it is called `{}` here{}",
                key.as_str(),
                counts(key)
            ),
        ),
        likely => match called_inside(list, found) {
            Some((outer, key)) => unknown(
                None,
                format!(
                    "unknown key `{found}`: it is called `{}` here{}, and belongs in `{}`: `{}`",
                    key.as_str(),
                    counts(key),
                    outer.as_str(),
                    inside(outer, key)
                ),
            ),
            None => unknown(
                likely.map(|(key, _)| key),
                match likely {
                    Some((key, _)) => format!(
                        "unknown key `{found}`, did you mean `{}`?\nhelp: {}",
                        key.as_str(),
                        keys_of(list)
                    ),
                    None => format!("unknown key `{found}`\nhelp: {}", keys_of(list)),
                },
            ),
        },
    }
}

/// What a number counts, where others count something else by the same name.
fn counts(key: Key) -> &'static str {
    match key {
        Key::Attempts => ", where the first call counts too",
        _ => "",
    }
}

/// What other libraries call a key of a list inside of this one, and the key of that list.
fn called_inside(list: Attribute, found: &str) -> Option<(Key, Key)> {
    let outer = list.keys().iter();
    let all = outer.filter_map(|outer| Some((*outer, outer.inside()?)));
    all.flat_map(|(outer, inside)| inside.keys().iter().map(move |key| (outer, *key)))
        .find(|(_, key)| called::elsewhere(*key).contains(&found))
}

/// The list of `outer` with `key` in it, and with all that has to be there.
fn inside(outer: Key, key: Key) -> String {
    let compulsory = outer.inside().map_or(&[][..], Attribute::compulsory);
    if compulsory.contains(&key) {
        return outer.example().to_owned();
    }
    let keys: Vec<_> = compulsory
        .iter()
        .chain([&key])
        .map(|key| key.example())
        .collect();
    format!("{}({})", outer.as_str(), keys.join(", "))
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
    if Key::of_list(list).is_some() {
        return belongs_elsewhere(list, home, key);
    }
    let (name, form) = (key.as_str(), key.form());
    let on_function = format!("`#[bulkhead(path::TO_THE_PARTITION, {form})]`");
    let text = match (list, home, Key::of_list(home)) {
        (Attribute::Dependency, _, _) => return belongs_on_no_dependency(home, key, &on_function),
        (_, Attribute::Dependency, _) => {
            format!("`{name}` belongs on the dependency: {}", on_dependency(key))
        }
        (_, _, Some(outer)) => {
            let in_list = in_list(outer, key);
            match list {
                _ if list.keys().contains(&outer) => format!("`{name}` belongs in {in_list}"),
                Attribute::Bulkhead => {
                    format!("`{name}` belongs in {in_list}, which belongs on the partition")
                }
                _ => format!("`{name}` belongs in {in_list}, which belongs on the function"),
            }
        }
        (Attribute::Bulkhead, _, None) => format!(
            "`{name}` belongs on the partition, not on the function: declare `#[partition(name = …, max = …, {form})] static NAME: Partition;` and write `#[bulkhead(NAME)]`"
        ),
        _ => format!("`{name}` belongs on the function, not on the partition: {on_function}"),
    };
    (None, text)
}

fn belongs_on_no_dependency(home: Attribute, key: Key, on_function: &str) -> (Option<Key>, String) {
    let name = key.as_str();
    match (home, key) {
        (_, Key::Name) => (
            None,
            "a dependency has the name of its module: remove `name`".to_owned(),
        ),
        (_, Key::Max) => (
            Some(Key::Capacity),
            "`max` is for each partition to say; what the dependency can take is its `capacity`".to_owned(),
        ),
        (_, Key::Reserve) => (
            Some(Key::Spare),
            "`reserve` is for each partition to say; what of the dependency stays free is its `spare`".to_owned(),
        ),
        (_, Key::Margin) => (
            Some(Key::Spare),
            "`margin` is for each function to say; what of the dependency stays free is its `spare`".to_owned(),
        ),
        (Attribute::Bulkhead, _) => (
            None,
            format!("`{name}` belongs on the function, not on the dependency: {on_function}"),
        ),
        (Attribute::Retry, _) => (
            None,
            format!("`{name}` belongs in {}, which belongs on the function", in_list(Key::Retry, key)),
        ),
        _ => (None, format!("`{name}` is for each partition to say: remove it here")),
    }
}

/// The same for a list inside of another.
fn belongs_elsewhere(list: Attribute, home: Attribute, key: Key) -> (Option<Key>, String) {
    let (name, is_no_part) = (key.as_str(), is_no_part(list));
    let text = match (list, home, key) {
        (Attribute::Breaker, _, Key::Timeout) => {
            "`timeout` bounds each call and belongs outside of `breaker(…)`; how long the breaker stays open is its `open_for`".to_owned()
        }
        (Attribute::Retry, _, Key::Timeout) => {
            "`timeout` bounds each attempt and belongs outside of `retry(…)`; what bounds all of them together is `deadline`".to_owned()
        }
        (Attribute::Breaker, Attribute::Measured, Key::Rate) => {
            let text = "`rate` belongs in `measured`; the share of failures that opens a breaker is its `failure_rate`";
            return (Some(Key::FailureRate), text.to_owned());
        }
        (Attribute::Retry, _, Key::Window) => {
            format!("`{name}` {is_no_part} and belongs in {}", in_list(Key::RetryBudget, Key::BudgetWindow))
        }
        (_, Attribute::Dependency, _) => {
            format!("`{name}` {is_no_part} and belongs on the dependency: {}", on_dependency(key))
        }
        _ => match Key::of_list(home) {
            Some(outer) => format!("`{name}` {is_no_part} and belongs in {}", in_list(outer, key)),
            None => format!("`{name}` {is_no_part}: it belongs outside of `{}(…)`", list.as_str()),
        },
    };
    (None, text)
}

fn on_dependency(key: Key) -> String {
    format!(
        "`#[dependency(…, {})]` on the module of its partitions",
        key.form()
    )
}

fn in_list(outer: Key, key: Key) -> String {
    format!("`{}`: `{}`", outer.as_str(), inside(outer, key))
}

fn is_no_part(list: Attribute) -> &'static str {
    match list {
        Attribute::Measured => "was not measured",
        Attribute::Retry => "is no setting of a retry",
        Attribute::RetryBudget => "is no setting of a budget",
        _ => "is no setting of a breaker",
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
        .find(|key| called::elsewhere(**key).contains(&found));
    if let Some(key) = called {
        return Some((*key, Likeness::Called));
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
mod tests;
