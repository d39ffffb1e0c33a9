//! Durations as literals with a unit: `25ms`, `1.5s`, `2m`.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

const UNITS: &str = "the units are `ms`, `s`, `m`, `h`";

/// Why a number is no duration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NoUnit,
    UnknownUnit(String),
    Exponent,
}

impl Fault {
    /// The error of `key = number`; `number` is what was written, without a unit.
    pub(crate) fn text(&self, key: &str, number: &str) -> String {
        match self {
            Self::NoUnit => format!("`{key}` needs a unit: `{number}ms` or `{number}s`?"),
            Self::UnknownUnit(unit) => match nearest_unit(unit) {
                Some(near) => format!("unknown unit `{unit}`, did you mean `{near}`? {UNITS}"),
                // What is measured is no timer's.
                None if is_too_fine(unit) && matches!(key, "mean" | "slow") => format!(
                    "unknown unit `{unit}`: write a fraction of `ms`, such as `0.5ms`; {UNITS}"
                ),
                None if is_too_fine(unit) => format!(
                    "unknown unit `{unit}`: the timer knows nothing finer than `ms`; {UNITS}"
                ),
                None => format!("unknown unit `{unit}`: {UNITS}"),
            },
            Self::Exponent => {
                format!("`{key}` takes a number without an exponent and a unit: `{key} = 500ms`")
            }
        }
    }
}

/// Reads `digits` (decimal, without underscores) and the unit behind them.
///
/// What is too long for a [`Duration`] becomes the longest one: the rule that says so is the
/// runtime's.
pub(crate) fn read(digits: &str, unit: &str) -> Result<Duration, Fault> {
    let nanos_per_unit = match unit {
        "" => return Err(Fault::NoUnit),
        _ => nanos_per(unit).ok_or_else(|| Fault::UnknownUnit(unit.to_owned()))?,
    };
    if digits.contains(['e', 'E']) {
        return Err(Fault::Exponent);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // 13 digits behind the point of an hour are below a nanosecond.
    let fraction = &fraction[..fraction.len().min(13)];
    let part = number(fraction).unwrap_or(0) * nanos_per_unit
        / 10_u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let nanos =
        number(whole).and_then(|whole| whole.checked_mul(nanos_per_unit)?.checked_add(part));
    Ok(nanos.and_then(from_nanos).unwrap_or(Duration::MAX))
}

/// Reads a whole text such as `500ms`, for an error that says how to write it without quotes.
pub(crate) fn read_text(text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let digits = &text[..text.len() - unit.len()];
    let is_number =
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.matches('.').count() < 2;
    (is_number && read(digits, unit).is_ok()).then_some(text)
}

pub(crate) fn is_unit(suffix: &str) -> bool {
    nanos_per(suffix).is_some() || nearest_unit(suffix).is_some() || is_too_fine(suffix)
}

/// The duration as an expression, at the place of the literal.
pub(crate) fn tokens(duration: Duration, span: Span) -> TokenStream {
    let (secs, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote_spanned!(Span::mixed_site().located_at(span)=> ::core::time::Duration::new(#secs, #nanos))
}

fn number(digits: &str) -> Option<u128> {
    if digits.is_empty() {
        Some(0)
    } else {
        digits.parse().ok()
    }
}

fn from_nanos(nanos: u128) -> Option<Duration> {
    let secs = u64::try_from(nanos / 1_000_000_000).ok()?;
    let rest = u32::try_from(nanos % 1_000_000_000).ok()?;
    Some(Duration::new(secs, rest))
}

fn nanos_per(unit: &str) -> Option<u128> {
    match unit {
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60 * 1_000_000_000),
        "h" => Some(60 * 60 * 1_000_000_000),
        _ => None,
    }
}

fn nearest_unit(unit: &str) -> Option<&'static str> {
    match unit.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => Some("ms"),
        "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "m" | "min" | "mins" | "minute" | "minutes" => Some("m"),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some("h"),
        _ => None,
    }
}

fn is_too_fine(unit: &str) -> bool {
    matches!(
        unit,
        "us" | "µs" | "μs" | "usec" | "micros" | "ns" | "nsec" | "nanos"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_broken_numbers_of_every_unit() {
        for (digits, unit, expected) in [
            ("25", "ms", Duration::from_millis(25)),
            ("1.5", "s", Duration::from_millis(1500)),
            ("2", "m", Duration::from_secs(120)),
            ("0.25", "h", Duration::from_secs(900)),
            ("0", "s", Duration::ZERO),
            ("0.5", "ms", Duration::from_micros(500)),
            ("1.000000001", "s", Duration::new(1, 1)),
            ("0.0000000000000000000000000001", "s", Duration::ZERO),
        ] {
            assert_eq!(read(digits, unit), Ok(expected), "{digits}{unit}");
        }
    }

    #[test]
    fn what_does_not_fit_becomes_the_longest() {
        assert_eq!(read("99999999999999999999", "h"), Ok(Duration::MAX));
        assert_eq!(read(&"9".repeat(60), "ms"), Ok(Duration::MAX));
        assert_eq!(
            read("18446744073709551615", "s"),
            Ok(Duration::from_secs(u64::MAX))
        );
    }

    #[test]
    fn a_number_alone_or_with_another_unit_is_no_duration() {
        assert_eq!(read("500", ""), Err(Fault::NoUnit));
        assert_eq!(read("5", "min"), Err(Fault::UnknownUnit("min".to_owned())));
        assert_eq!(read("1e3", "s"), Err(Fault::Exponent));
    }

    #[test]
    fn an_unknown_unit_names_its_neighbour() {
        let text = |unit: &str| Fault::UnknownUnit(unit.to_owned()).text("wait", "5");
        assert!(text("min").contains("did you mean `m`?"), "{}", text("min"));
        assert!(
            text("us").contains("nothing finer than `ms`"),
            "{}",
            text("us")
        );
        assert!(
            !text("fortnight").contains("did you mean"),
            "{}",
            text("fortnight")
        );
    }

    #[test]
    fn a_quoted_duration_is_recognised() {
        assert_eq!(read_text("500ms").as_deref(), Some("500ms"));
        assert_eq!(read_text("5 s").as_deref(), Some("5s"));
        for text in ["soon", "", "ms", "5", "1.2.3s", "-5s"] {
            assert_eq!(read_text(text), None, "{text:?}");
        }
    }
}
