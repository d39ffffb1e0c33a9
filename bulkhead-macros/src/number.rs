//! Numbers as values: whole ones, and rates, which may have a point.

use proc_macro2::{Literal, TokenStream};
use syn::{Error, Lit, LitInt, Result};

use crate::decimal::{self, Fault};
use crate::duration;
use crate::keys::Key;
use crate::literal::Literally;
use crate::value::Read;

impl Read<'_> {
    pub(crate) fn count(&self, literal: &Literally) -> Result<TokenStream> {
        self.not_negative(literal)?;
        match &literal.lit {
            Lit::Int(int) => self.whole(int),
            Lit::Float(float) if duration::is_unit(float.suffix()) => Err(self.no_duration()),
            Lit::Float(float) => {
                let found = format!("a whole number, found `{float}`");
                Err(self.error(format_args!("`{}` takes {found}", self.key.as_str())))
            }
            _ => Err(self.no_number("a whole number", literal)),
        }
    }

    /// Calls a second, or with a point; emitted as calls in a thousand seconds.
    pub(crate) fn rate(&self, literal: &Literally) -> Result<TokenStream> {
        let key = self.key.as_str();
        self.not_negative(literal)?;
        let (digits, suffix, own) = match &literal.lit {
            Lit::Int(int) => (int.base10_digits(), int.suffix(), "u32"),
            Lit::Float(float) => (float.base10_digits(), float.suffix(), ""),
            _ => return Err(self.no_number("a number", literal)),
        };
        if !suffix.is_empty() && suffix != own {
            return Err(self.no_suffix(digits, suffix));
        }
        match decimal::read(digits, 3) {
            Ok(rate) if rate > u64::from(u32::MAX) * 1_000 => Err(self.too_large()),
            Ok(rate) => Ok(self.ends.literal(Literal::u64_unsuffixed(rate))),
            Err(Fault::TooFine) => Err(self.error(format_args!(
                "`{key}` takes at most 3 decimals, found `{digits}`"
            ))),
            Err(Fault::Exponent) => Err(self.error(format_args!(
                "`{key}` takes a number without an exponent: `{}`",
                self.key.example()
            ))),
        }
    }

    pub(crate) fn not_negative(&self, literal: &Literally) -> Result<()> {
        if literal.negative && literal.is_number() {
            let key = self.key.as_str();
            return Err(self.error(format_args!("`{key}` cannot be negative")));
        }
        Ok(())
    }

    fn whole(&self, int: &LitInt) -> Result<TokenStream> {
        let (own, largest) = match self.key {
            Key::Status => ("u16", u32::from(u16::MAX)),
            _ => ("u32", u32::MAX),
        };
        match int.suffix() {
            suffix if suffix.is_empty() || suffix == own => {
                match int.base10_digits().parse::<u32>() {
                    // What does not fit is reported by the rule, like everything above the limit.
                    Err(_) if !self.has_limit() => Err(self.too_large()),
                    number => {
                        let number = number.unwrap_or(largest).min(largest);
                        Ok(self.ends.literal(Literal::u32_unsuffixed(number)))
                    }
                }
            }
            suffix => Err(self.no_suffix(int.base10_digits(), suffix)),
        }
    }

    /// Whether a rule of the runtime says how large it can be.
    fn has_limit(&self) -> bool {
        !matches!(
            self.key,
            Key::MinCalls | Key::Consecutive | Key::Capacity | Key::Spare | Key::Replicas
        )
    }

    fn too_large(&self) -> Error {
        self.error(format_args!(
            "`{}` is too large: the limit is {}",
            self.key.as_str(),
            u32::MAX
        ))
    }

    fn no_number(&self, what: &str, literal: &Literally) -> Error {
        let key = self.key.as_str();
        if let Lit::Str(text) = &literal.lit
            && text.value().trim().parse::<u32>().is_ok()
        {
            let example = self.with(text.value().trim());
            return self.error(format_args!(
                "`{key}` takes a number without quotes: `{example}`"
            ));
        }
        self.error(format_args!(
            "`{key}` takes {what}, found {}",
            literal.kind()
        ))
    }

    fn no_suffix(&self, digits: &str, suffix: &str) -> Error {
        if duration::is_unit(suffix) {
            return self.no_duration();
        }
        let example = self.with(digits);
        self.error(format_args!("remove the suffix: `{example}`"))
    }

    fn no_duration(&self) -> Error {
        let what = match self.key {
            Key::Status => "an HTTP status",
            Key::Reserve | Key::PerKey => "a number of permits",
            Key::Rate => "a number of calls a second",
            Key::Consecutive => "a number of failures",
            Key::Attempts => "a number of attempts",
            Key::Min => "a number of retries",
            Key::Replicas => "a number of processes",
            _ => "a number of calls",
        };
        self.error(format_args!(
            "`{}` is {what}, not a duration",
            self.key.as_str()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::tests::read;

    #[test]
    fn each_number_of_another_kind_has_its_error() {
        for (key, written, expected) in [
            (Key::Max, "-1", "`max` cannot be negative"),
            (Key::Max, "4.0", "`max` takes a whole number, found `4.0`"),
            (
                Key::Max,
                r#""4""#,
                "`max` takes a number without quotes: `max = 4`",
            ),
            (
                Key::Max,
                r#""four""#,
                "`max` takes a whole number, found a string",
            ),
            (Key::Max, "4i32", "remove the suffix: `max = 4`"),
            (
                Key::Max,
                "true",
                "`max` takes a whole number, found a boolean",
            ),
            (
                Key::Max,
                "4ms",
                "`max` is a number of calls, not a duration",
            ),
            (
                Key::Max,
                "1.5s",
                "`max` is a number of calls, not a duration",
            ),
            (Key::Rate, "-1", "`rate` cannot be negative"),
            (
                Key::Rate,
                "0.0001",
                "`rate` takes at most 3 decimals, found `0.0001`",
            ),
            (
                Key::Rate,
                "1e3",
                "`rate` takes a number without an exponent",
            ),
            (Key::Rate, "40.0f64", "remove the suffix: `rate = 40.0`"),
            (
                Key::Rate,
                "4294967296",
                "`rate` is too large: the limit is 4294967295",
            ),
            (
                Key::Rate,
                "40ms",
                "`rate` is a number of calls a second, not a duration",
            ),
            (
                Key::Rate,
                r#""40""#,
                "`rate` takes a number without quotes: `rate = 40`",
            ),
            (Key::Rate, "true", "`rate` takes a number, found a boolean"),
            (
                Key::Consecutive,
                "5s",
                "`consecutive` is a number of failures, not a duration",
            ),
            (
                Key::MinCalls,
                "4294967296",
                "`min_calls` is too large: the limit is 4294967295",
            ),
            (
                Key::PerKey,
                "3ms",
                "`per_key` is a number of permits, not a duration",
            ),
            (
                Key::Replicas,
                "4.0",
                "`replicas` takes a whole number, found `4.0`",
            ),
            (
                Key::Capacity,
                "4294967296",
                "`capacity` is too large: the limit is 4294967295",
            ),
        ] {
            let text = read(key, written).err().map(|error| error.to_string());
            assert!(
                text.as_ref().is_some_and(|text| text.starts_with(expected)),
                "{written}: {text:?}"
            );
        }
    }

    #[test]
    fn what_is_too_large_for_a_number_is_left_to_the_rule() {
        let max = read(Key::Max, "99999999999999999999").map(|max| max.tokens.to_string());
        assert_eq!(max.ok().as_deref(), Some("4294967295"));
    }

    #[test]
    fn a_rate_is_emitted_in_a_thousand_seconds() {
        for (written, expected) in [("40", "40000"), ("0.5", "500"), ("1_000u32", "1000000")] {
            let rate = read(Key::Rate, written).map(|rate| rate.tokens.to_string());
            assert_eq!(rate.ok().as_deref(), Some(expected));
        }
    }
}
