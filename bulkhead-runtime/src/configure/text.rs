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
                let part = format!("{name}: {assignment}");
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
        part: part.to_owned(),
        what: what.to_owned(),
    }
}

fn assign(says: &mut Override, assignment: &str) -> Result<(), String> {
    let Some((key, value)) = assignment.split_once('=') else {
        return Err("write `key=value`, without spaces around `=`".to_owned());
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
            "unknown key `{key}`; the keys are `max`, `queue`, `wait` and `mode` of a partition, and \
             `replicas` of a dependency"
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
            "`{key}` takes a whole number up to {}, found `{value}`",
            u32::MAX
        )
    })
}

/// `25ms`, `1.5s`, `2m`, `1h`: as in the attributes.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "" => {
            return Err(format!("a time needs a unit: `{text}ms` or `{text}s`?"));
        }
        other => {
            return Err(format!(
                "unknown unit `{other}`; the units are `ms`, `s`, `m`, `h`"
            ));
        }
    };
    // What Rust reads besides, `1e3` or `inf`, is no way to write a time.
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: Option<f64> = digits.parse().ok().filter(|_| is_number);
    number
        .and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
        .map(rounded)
        .ok_or_else(|| format!("a time is written `25ms` or `1.5s`, found `{text}`"))
}

/// To whole microseconds: binary fractions of a second are not what anybody wrote.
fn rounded(duration: Duration) -> Duration {
    let micros = (duration.as_nanos() + 500) / 1_000;
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
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
        for text in [
            "ms",
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
