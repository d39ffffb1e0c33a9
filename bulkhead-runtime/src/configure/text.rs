//! Overrides as one line of text: `report: max=8 wait=25ms; export: mode=off`.

use std::time::Duration;

use super::{Override, Problem};

/// Reads all that can be read, and tells of all that cannot.
pub(super) fn read(text: &str, entries: &mut Vec<(String, Override)>, problems: &mut Vec<Problem>) {
    for entry in text
        .split(';')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        let Some((name, assignments)) = entry.split_once(':') else {
            problems.push(unreadable(
                entry,
                "write the name, a colon, and what to change: `report: max=8`",
            ));
            continue;
        };
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            problems.push(unreadable(
                entry,
                "before the colon stands the name of one partition or dependency",
            ));
            continue;
        }
        let mut says = Override::new();
        let before = problems.len();
        for assignment in assignments.split_whitespace() {
            if let Err(what) = assign(&mut says, assignment) {
                let part = format!("{name}: {}", short(assignment));
                problems.push(Problem::Unreadable { part, what });
            }
        }
        // What could not be read is not missing.
        if problems.len() == before || says != Override::new() {
            entries.push((name.to_owned(), says));
        }
    }
}

fn unreadable(part: &str, what: &str) -> Problem {
    Problem::Unreadable {
        part: short(part),
        what: what.to_owned(),
    }
}

fn assign(says: &mut Override, assignment: &str) -> Result<(), String> {
    let Some((key, value)) = assignment.split_once('=') else {
        return Err(match assignment.strip_suffix(':') {
            Some(_) => "before another name stands a semicolon".to_owned(),
            None => "write `key=value`, without spaces around `=`".to_owned(),
        });
    };
    match key {
        "max" => set(&mut says.max, key, number(key, value)?),
        "queue" => set(&mut says.queue, key, number(key, value)?),
        "wait" => set(&mut says.wait, key, duration(value)?),
        "mode" => {
            let mode = value.parse();
            set(
                &mut says.mode,
                key,
                mode.map_err(|error| format!("{error}"))?,
            )
        }
        "replicas" => set(&mut says.replicas, key, number(key, value)?),
        _ => Err(format!(
            "unknown key `{}`; the keys are `max`, `queue`, `wait` and `mode` of a partition, and \
             `replicas` of a dependency",
            short(key)
        )),
    }
}

fn set<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    if slot.is_some() {
        return Err(format!("`{key}` is given twice"));
    }
    *slot = Some(value);
    Ok(())
}

fn number(key: &str, value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| {
        format!(
            "`{key}` takes a whole number up to {}, found `{}`",
            u32::MAX,
            short(value)
        )
    })
}

/// `25ms`, `1.5s`, `2m`, `1h`: as in the attributes, and as exactly.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let nanos_of_one = match &text[digits.len()..] {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => {
            return Err(format!(
                "a time needs a unit: `{}ms` or `{0}s`?",
                short(text)
            ));
        }
        other => {
            return Err(format!(
                "unknown unit `{}`; the units are `ms`, `s`, `m`, `h`",
                short(other)
            ));
        }
    };
    nanos(digits, nanos_of_one)
        .map(Duration::from_nanos)
        .ok_or_else(|| {
            format!(
                "a time is written `25ms` or `1.5s`, found `{}`",
                short(text)
            )
        })
}

/// A decimal number of units, to the nanosecond; what is finer is cut off.
fn nanos(digits: &str, nanos_of_one: u64) -> Option<u64> {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !fraction.is_none_or(is_number) {
        return None;
    }
    let mut nanos = whole.parse::<u64>().ok()?.checked_mul(nanos_of_one)?;
    let mut unit = nanos_of_one;
    for digit in fraction.unwrap_or_default().bytes() {
        nanos = nanos.checked_add(unit * u64::from(digit - b'0') / 10)?;
        unit /= 10;
    }
    Some(nanos)
}

/// As much of what was found as belongs in a message.
pub(super) fn short(text: &str) -> String {
    const LONG: usize = 80;
    match text.char_indices().nth(LONG) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<(String, Override)>, Vec<String>) {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        read(text, &mut entries, &mut problems);
        let problems = problems.iter().map(ToString::to_string).collect();
        (entries, problems)
    }

    #[test]
    fn spaces_and_empty_entries_do_not_matter() {
        let (entries, problems) = of(" ; report :max=8   wait=1.5s;;app/export: mode=off ; ");
        assert_eq!(problems, Vec::<String>::new());
        let report = Override::new().max(8).wait(Duration::from_millis(1_500));
        let export = Override::new().mode(crate::Mode::Off);
        assert_eq!(
            entries,
            [
                ("report".to_owned(), report),
                ("app/export".to_owned(), export)
            ]
        );
    }

    #[test]
    fn every_part_that_cannot_be_read_is_told() {
        let (entries, problems) = of(
            "report max=8; a b: max=1; r: max=-1 queue=x wait=25 wait=5min mode=on mx=4 max 4 max=1 max=2",
        );
        assert_eq!(entries, [("r".to_owned(), Override::new().max(1))]);
        let expected = [
            "`report max=8`: write the name, a colon,",
            "`a b: max=1`: before the colon stands",
            "`r: max=-1`: `max` takes a whole number up to 4294967295, found `-1`",
            "`r: queue=x`: `queue` takes a whole number",
            "`r: wait=25`: a time needs a unit: `25ms` or `25s`?",
            "`r: wait=5min`: unknown unit `min`; the units are",
            "`r: mode=on`: the modes are `enforce`, `observe` and `off`",
            "`r: mx=4`: unknown key `mx`; the keys are",
            "`r: max`: write `key=value`",
            "`r: 4`: write `key=value`",
            "`r: max=2`: `max` is given twice",
        ];
        assert_eq!(problems.len(), expected.len(), "{problems:#?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(expected), "{problem}");
        }
    }

    #[test]
    fn durations_are_those_of_the_attributes() {
        for (text, millis) in [
            ("25ms", 25),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(duration("0.3ms"), Ok(Duration::from_micros(300)));
        assert_eq!(
            duration("1.0000001s"),
            Ok(Duration::from_nanos(1_000_000_100))
        );
        assert_eq!(
            duration("0.99999ms"),
            Ok(Duration::from_nanos(999_990)),
            "below a millisecond"
        );
        assert_eq!(duration("1.25h"), Ok(Duration::from_secs(4_500)));
        assert_eq!(duration(" 25ms "), Ok(Duration::from_millis(25)));
        let long = duration(&"9".repeat(1_000)).expect_err("it has no unit");
        assert!(long.len() < 300, "{long}");
        for text in [
            "ms",
            "5.s",
            ".5s",
            "-5s",
            "1e3s",
            "5 s",
            "inf",
            "NaNs",
            "99999999999999999999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
