//! Numbers with a point, in whole parts: `0.5` is 500 thousandths.

/// Why digits are no such number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Exponent,
    /// More behind the point than there are parts for.
    TooFine,
}

/// Reads `digits` (decimal, without underscores) in parts of 10^`places`. What is too large becomes the
/// largest number.
pub(crate) fn read(digits: &str, places: usize) -> Result<u64, Fault> {
    if digits.contains(['e', 'E']) {
        return Err(Fault::Exponent);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > places {
        return Err(Fault::TooFine);
    }
    Ok(format!("{whole}{fraction:0<places$}")
        .parse()
        .unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_broken_numbers() {
        for (digits, places, expected) in [
            ("40", 3, Ok(40_000)),
            ("0.5", 3, Ok(500)),
            ("0.001", 3, Ok(1)),
            ("1.5000", 3, Ok(1_500)),
            ("1.", 4, Ok(10_000)),
            ("0", 4, Ok(0)),
            ("0.0001", 3, Err(Fault::TooFine)),
            ("1e3", 3, Err(Fault::Exponent)),
            ("99999999999999999999", 3, Ok(u64::MAX)),
        ] {
            assert_eq!(read(digits, places), expected, "{digits}");
        }
    }
}
