//! Percentages: `1%`, `0.5%`. They are no expressions, and so they are read before those are.

use proc_macro2::{Ident, Literal};
use syn::{Error, Lit, Result};

use crate::decimal::{self, Fault};
use crate::duration;
use crate::keys::Key;
use crate::literal::Literally;
use crate::span::Ends;
use crate::value::Value;
use crate::walk::Walk;

/// A percentage has so many decimals: it is counted in parts of a million.
const PLACES: usize = 4;

/// Reads what stands behind `key =`, as parts of a million.
pub(crate) fn read(key: Key, ident: Ident, walk: Walk<'_>) -> Result<Value> {
    let Some((literal, written)) = walk.percentage() else {
        return Err(none(key, walk));
    };
    let ends = Ends::of(&written);
    let parts = parts(key, &literal).map_err(|text| ends.error(text))?;
    Ok(Value {
        key: ident,
        tokens: ends.literal(Literal::u32_unsuffixed(parts)),
        ends,
        is_literal: true,
    })
}

fn parts(key: Key, literal: &Literally) -> std::result::Result<u32, String> {
    let name = key.as_str();
    if literal.negative && literal.is_number() {
        return Err(format!("`{name}` cannot be negative"));
    }
    let (digits, suffix) = match &literal.lit {
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        _ => return Err(instead_of(key, literal)),
    };
    if duration::is_unit(suffix) {
        return Err(no_duration(key));
    }
    if !suffix.is_empty() {
        return Err(format!("remove the suffix: `{name} = {digits}%`"));
    }
    match decimal::read(digits, PLACES) {
        // What is too large is reported by the rule.
        Ok(parts) => Ok(u32::try_from(parts).unwrap_or(u32::MAX)),
        Err(Fault::TooFine) => Err(format!(
            "`{name}` takes at most {PLACES} decimals, found `{digits}%`"
        )),
        Err(Fault::Exponent) => Err(format!(
            "`{name}` takes a number without an exponent: `{}`",
            key.example()
        )),
    }
}

/// What stands there in place of a percentage.
fn none(key: Key, walk: Walk<'_>) -> Error {
    let (name, at) = (key.as_str(), walk.span());
    let Ok((expr, written)) = walk.expression() else {
        let skipped = walk.skip_entry();
        return if skipped.is_empty() {
            Error::new(at, constant(key))
        } else {
            Ends::of(&skipped).error(constant(key))
        };
    };
    let text = match Literally::of(&expr) {
        None => constant(key),
        Some(literal) if literal.negative && literal.is_number() => {
            format!("`{name}` cannot be negative")
        }
        Some(Literally {
            lit: Lit::Int(int), ..
        }) => without_sign(key, int.base10_digits(), int.suffix()),
        Some(Literally {
            lit: Lit::Float(float),
            ..
        }) => without_sign(key, float.base10_digits(), float.suffix()),
        Some(literal) => instead_of(key, &literal),
    };
    if walk
        .word_ahead()
        .is_some_and(|(word, _)| is_spelled_out(&word.to_string()))
    {
        walk.skip(1);
    }
    Ends::of(&written).error(text)
}

fn without_sign(key: Key, digits: &str, suffix: &str) -> String {
    let name = key.as_str();
    if duration::is_unit(suffix) {
        return no_duration(key);
    }
    // Somebody may have meant a share of 1.
    match decimal::read(digits, PLACES + 2) {
        Ok(parts @ 1..1_000_000) => {
            let percent = percent(parts);
            format!("`{name}` needs a `%`: `{digits}%` or `{percent}%`?")
        }
        _ => format!("write a percentage: `{name} = {digits}%`"),
    }
}

/// Parts of a million, in percent.
fn percent(parts: u64) -> String {
    let digits = format!("{}.{:04}", parts / 10_000, parts % 10_000);
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

fn instead_of(key: Key, literal: &Literally) -> String {
    let name = key.as_str();
    match &literal.lit {
        Lit::Str(text) => {
            let text = text.value();
            let number = text.trim().trim_end_matches('%').trim_end();
            let example = match decimal::read(number, PLACES) {
                Ok(_) if is_decimal(number) => format!("{name} = {number}%"),
                _ => key.example().to_owned(),
            };
            format!("a percentage has no quotes: `{example}`")
        }
        _ => format!(
            "`{name}` takes a percentage, found {}: `{}`",
            literal.kind(),
            key.example()
        ),
    }
}

fn is_decimal(number: &str) -> bool {
    let digits = number.replacen('.', "", 1);
    number.starts_with(|c: char| c.is_ascii_digit()) && digits.bytes().all(|b| b.is_ascii_digit())
}

fn no_duration(key: Key) -> String {
    format!(
        "`{}` is a percentage, not a duration: `{}`",
        key.as_str(),
        key.example()
    )
}

fn constant(key: Key) -> String {
    format!(
        "`{}` takes a literal percentage and no constant: `{}`",
        key.as_str(),
        key.example()
    )
}

fn is_spelled_out(word: &str) -> bool {
    matches!(word, "percent" | "pct")
}
