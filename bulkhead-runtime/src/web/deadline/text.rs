//! The time that is left, as the two headers write it. Pure: no clock, and nothing that a stranger writes
//! can make it panic.

use std::time::Duration;

/// A header that says how much time is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::web) enum Header {
    /// `x-request-timeout-ms`: whole milliseconds.
    #[default]
    Millis,
    /// `grpc-timeout`: at most eight digits and a unit, as "gRPC over HTTP2" has it.
    Grpc,
}

/// The units of `grpc-timeout`, the finest first.
const UNITS: [(u8, Duration); 6] = [
    (b'n', Duration::from_nanos(1)),
    (b'u', Duration::from_micros(1)),
    (b'm', Duration::from_millis(1)),
    (b'S', Duration::from_secs(1)),
    (b'M', Duration::from_secs(60)),
    (b'H', Duration::from_secs(3_600)),
];
const MOST_DIGITS: usize = 8;
const MOST: u32 = 99_999_999;

impl Header {
    pub(super) const ALL: [Self; 2] = [Self::Millis, Self::Grpc];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Millis => "x-request-timeout-ms",
            Self::Grpc => "grpc-timeout",
        }
    }

    /// `None` for everything that is not to the letter what the header allows. No time at all is read by
    /// both, though `grpc-timeout` must not say it: it can only shorten.
    pub(super) fn read(self, value: &[u8]) -> Option<Duration> {
        match self {
            Self::Millis => number(value).map(Duration::from_millis),
            Self::Grpc => {
                let (unit, digits) = value.split_last()?;
                let (_, time) = UNITS.iter().find(|(letter, _)| letter == unit)?;
                if digits.len() > MOST_DIGITS {
                    return None;
                }
                let count = u32::try_from(number(digits)?).ok()?;
                time.checked_mul(count)
            }
        }
    }

    /// Rounded down to a unit of the header. Only where nothing is left, `grpc-timeout` says more: it has
    /// no zero, so it is a nanosecond then.
    pub(super) fn write(self, left: Duration) -> String {
        match self {
            Self::Millis => left.as_millis().min(u128::from(u64::MAX)).to_string(),
            Self::Grpc => {
                let counted = UNITS.map(|(letter, time)| {
                    let count = left.as_nanos() / time.as_nanos();
                    (u32::try_from(count).unwrap_or(u32::MAX), letter)
                });
                let finest = counted.into_iter().find(|(count, _)| *count <= MOST);
                let (count, letter) = finest.unwrap_or((MOST, b'H'));
                format!("{}{}", count.max(1), char::from(letter))
            }
        }
    }
}

/// Digits and nothing else: `str::parse` would take a sign.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_to_the_letter() {
        for (header, value, expected) in [
            (Header::Millis, "0", Some(Duration::ZERO)),
            (Header::Millis, "50", Some(Duration::from_millis(50))),
            (Header::Millis, "0050", Some(Duration::from_millis(50))),
            (
                Header::Millis,
                "18446744073709551615",
                Some(Duration::from_millis(u64::MAX)),
            ),
            (Header::Millis, "18446744073709551616", None),
            (Header::Millis, "", None),
            (Header::Millis, "-1", None),
            (Header::Millis, "+1", None),
            (Header::Millis, "1.5", None),
            (Header::Millis, " 1", None),
            (Header::Millis, "1 ", None),
            (Header::Millis, "5, 6", None),
            (Header::Millis, "1e3", None),
            (Header::Millis, "50ms", None),
            (Header::Millis, "٥", None),
            (Header::Grpc, "1H", Some(Duration::from_secs(3_600))),
            (Header::Grpc, "1M", Some(Duration::from_secs(60))),
            (Header::Grpc, "1S", Some(Duration::from_secs(1))),
            (Header::Grpc, "1m", Some(Duration::from_millis(1))),
            (Header::Grpc, "1u", Some(Duration::from_micros(1))),
            (Header::Grpc, "1n", Some(Duration::from_nanos(1))),
            (Header::Grpc, "0S", Some(Duration::ZERO)),
            (
                Header::Grpc,
                "99999999H",
                Some(Duration::from_secs(99_999_999 * 3_600)),
            ),
            (Header::Grpc, "100000000n", None),
            (Header::Grpc, "000000001n", None),
            (Header::Grpc, "S", None),
            (Header::Grpc, "1", None),
            (Header::Grpc, "", None),
            (Header::Grpc, "1s", None),
            (Header::Grpc, "1h", None),
            (Header::Grpc, "1.5S", None),
            (Header::Grpc, "-1S", None),
            (Header::Grpc, "+1S", None),
            (Header::Grpc, "1 S", None),
            (Header::Grpc, " 1S", None),
            (Header::Grpc, "1S ", None),
            (Header::Grpc, "1ms", None),
            (Header::Grpc, "٥S", None),
        ] {
            assert_eq!(header.read(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn times_are_written_in_the_finest_unit_that_fits() {
        for (left, millis, grpc) in [
            (Duration::ZERO, "0", "1n"),
            (Duration::from_nanos(999_999), "0", "999999n"),
            (Duration::from_micros(1_999), "1", "1999000n"),
            (Duration::from_nanos(99_999_999), "99", "99999999n"),
            (Duration::from_nanos(100_000_999), "100", "100000u"),
            (Duration::from_secs(99), "99000", "99000000u"),
            (Duration::from_secs(100), "100000", "100000m"),
            (Duration::from_secs(99_999), "99999000", "99999000m"),
            (Duration::from_secs(100_000), "100000000", "100000S"),
            (Duration::from_secs(100_000_019), "100000019000", "1666666M"),
            (Duration::MAX, "18446744073709551615", "99999999H"),
        ] {
            assert_eq!(Header::Millis.write(left), millis, "{left:?}");
            assert_eq!(Header::Grpc.write(left), grpc, "{left:?}");
        }
    }

    /// Of every order of magnitude, up to the most that `grpc-timeout` can say.
    fn times() -> impl Strategy<Value = Duration> {
        let most = UNITS[5].1 * MOST;
        (0_u32..70, any::<u64>()).prop_map(move |(shift, bits)| {
            Duration::from_nanos(bits >> shift.min(63))
                .saturating_mul(1 << shift.saturating_sub(60))
                .min(most)
        })
    }

    proptest! {
        #[test]
        fn whatever_a_stranger_writes_is_read_or_not(value in any::<Vec<u8>>()) {
            for header in Header::ALL {
                let _told = header.read(&value);
            }
        }

        #[test]
        fn what_looks_nearly_right_is_read_or_not(value in "[0-9+. -]{0,24}[HMSmunxµ]{0,2}") {
            for header in Header::ALL {
                if let Some(time) = header.read(value.as_bytes()) {
                    prop_assert!(!value.contains(['+', '.', ' ', '-']), "{value:?} was read as {time:?}");
                }
            }
        }

        #[test]
        fn what_is_read_back_is_never_more_and_at_most_one_unit_less(left in times()) {
            for header in Header::ALL {
                let written = header.write(left);
                let read = header.read(written.as_bytes()).expect("what is written can be read");
                let unit = match header {
                    Header::Millis => Duration::from_millis(1),
                    Header::Grpc => {
                        prop_assert!(written.len() <= MOST_DIGITS + 1, "{written}");
                        let letter = written.as_bytes()[written.len() - 1];
                        UNITS.iter().find(|(unit, _)| *unit == letter).expect("a unit").1
                    }
                };
                let least = Duration::from_nanos(u64::from(header == Header::Grpc));
                prop_assert!(read <= left.max(least), "{left:?} became {written}");
                prop_assert!(left.saturating_sub(read) < unit, "{left:?} became {written}");
            }
        }
    }
}
