//! Building a message with numbers in it while compiling, where `format!` does not exist.

use std::time::Duration;

const CAPACITY: usize = 400;

/// A string of at most `CAPACITY` bytes. Only a very long name can make a message longer; it is cut off.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Text {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; CAPACITY],
            len: 0,
        }
    }

    pub(crate) const fn as_str(&self) -> &str {
        let bytes = self.bytes.split_at(self.len).0;
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // Cut off within a character.
            Err(error) => match std::str::from_utf8(bytes.split_at(error.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => panic!("it is valid up to there"),
            },
        }
    }

    pub(crate) const fn str(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Appends up to the first NUL, and as much as there is space for.
    pub(super) const fn bytes(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() && bytes[at] != 0 && self.len < CAPACITY {
            self.bytes[self.len] = bytes[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    pub(crate) const fn number(self, number: u64) -> Self {
        let shorter = if number >= 10 {
            self.number(number / 10)
        } else {
            self
        };
        shorter.bytes(&[b'0' + (number % 10) as u8])
    }

    /// `5s`, `1.5s`, `25ms`, `0.5ms`: as short as the number allows.
    pub(crate) const fn duration(self, duration: Duration) -> Self {
        self.duration_with(duration, "")
    }

    const fn duration_with(self, duration: Duration, space: &str) -> Self {
        let (secs, nanos) = (duration.as_secs(), duration.subsec_nanos());
        if secs > 0 {
            self.number(secs)
                .fraction(nanos, 100_000_000)
                .str(space)
                .str("s")
        } else {
            self.number((nanos / 1_000_000) as u64)
                .fraction(nanos % 1_000_000, 100_000)
                .str(space)
                .str("ms")
        }
    }

    /// The same with a space before its unit: `50 ms`.
    pub(super) const fn spaced_duration(self, duration: Duration) -> Self {
        self.duration_with(duration, " ")
    }

    /// `40` for 40,000, `0.5` for 500.
    pub(super) const fn thousandths(self, thousandths: u64) -> Self {
        self.number(thousandths / 1_000)
            .fraction((thousandths % 1_000) as u32, 100)
    }

    /// A share in parts of a million: `40.0 %`, `1.2 %`, and below a tenth of a percent `0.03 %`.
    pub(crate) const fn percent(self, ppm: u32) -> Self {
        self.percent_in(ppm, unit(ppm))
    }

    /// The same, with as many digits as it takes not to look like `other`.
    pub(super) const fn percent_beside(self, ppm: u32, other: u32) -> Self {
        let mut unit = unit(ppm);
        while unit > 1 && rounded(ppm, unit) == rounded(other, unit) {
            unit /= 10;
        }
        self.percent_in(ppm, unit)
    }

    const fn percent_in(self, ppm: u32, unit: u32) -> Self {
        let rounded = rounded(ppm, unit);
        let mut text = self.number((rounded / 10_000) as u64).str(".");
        let mut digit = 1_000;
        while digit >= unit {
            text = text.number((rounded / digit % 10) as u64);
            digit /= 10;
        }
        text.str(" %")
    }

    /// `40 calls a second of 50 ms`
    pub(super) const fn traffic(self, in_a_thousand_seconds: u64, mean: Duration) -> Self {
        self.thousandths(in_a_thousand_seconds)
            .str(if in_a_thousand_seconds == 1_000 {
                " call a second of "
            } else {
                " calls a second of "
            })
            .spaced_duration(mean)
    }

    /// `max = 7 rejects 0.3 %`, told apart from what is allowed.
    pub(super) const fn rejects(self, max: u32, ppm: u32, allowed: u32) -> Self {
        self.str("max = ")
            .number(max as u64)
            .str(" rejects ")
            .percent_beside(ppm, allowed)
    }

    const fn fraction(self, mut rest: u32, mut unit: u32) -> Self {
        let mut text = self;
        if rest > 0 {
            text = text.str(".");
        }
        while rest > 0 {
            text = text.number((rest / unit) as u64);
            rest %= unit;
            unit /= 10;
        }
        text
    }

    /// The character as it stands in Rust source.
    pub(super) const fn escaped(self, c: char) -> Self {
        match c {
            '\n' => self.str("\\n"),
            '\r' => self.str("\\r"),
            '\t' => self.str("\\t"),
            '\0' => self.str("\\0"),
            _ => {
                let mut buffer = [0; 4];
                self.str(c.encode_utf8(&mut buffer))
            }
        }
    }
}

/// What the last digit of a share stands for, in parts of a million.
const fn unit(ppm: u32) -> u32 {
    match ppm {
        950.. => 1_000,
        95.. => 100,
        10.. => 10,
        _ => 1,
    }
}

/// Halves are rounded up.
const fn rounded(ppm: u32, unit: u32) -> u32 {
    (ppm + unit / 2) / unit * unit
}

/// The character of `text` that starts at byte `at`.
pub(super) const fn char_at(text: &str, at: usize) -> char {
    let bytes = text.as_bytes();
    let (width, lead) = match bytes[at] {
        b @ 0..=0x7f => (1, b as u32),
        b @ ..=0xdf => (2, (b & 0x1f) as u32),
        b @ ..=0xef => (3, (b & 0x0f) as u32),
        b => (4, (b & 0x07) as u32),
    };
    let mut code = lead;
    let mut next = 1;
    while next < width {
        code = (code << 6) | (bytes[at + next] & 0x3f) as u32;
        next += 1;
    }
    match char::from_u32(code) {
        Some(c) => c,
        None => char::REPLACEMENT_CHARACTER,
    }
}

/// What stands between the braces, if a `{…}` opens at byte `open`.
pub(super) const fn placeholder(text: &str, open: usize) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes[open] != b'{' {
        return None;
    }
    let mut placeholder = [0; 16];
    let mut at = open + 1;
    while at < bytes.len() {
        if bytes[at] == b'}' {
            return Some(placeholder);
        }
        if !bytes[at].is_ascii() || at - open > placeholder.len() {
            return None;
        }
        placeholder[at - open - 1] = bytes[at];
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_are_as_short_as_they_can_be() {
        let text = Text::new().number(0).str(" ").number(1_048_576);
        assert_eq!(text.as_str(), "0 1048576");
        for (duration, expected) in [
            (Duration::from_secs(5), "5s"),
            (Duration::from_millis(1500), "1.5s"),
            (Duration::from_millis(2050), "2.05s"),
            (Duration::from_millis(25), "25ms"),
            (Duration::from_micros(500), "0.5ms"),
            (Duration::ZERO, "0ms"),
        ] {
            assert_eq!(
                Text::new().duration(duration).as_str(),
                expected,
                "{duration:?}"
            );
        }
    }

    #[test]
    fn shares_are_written_with_as_many_digits_as_they_need() {
        for (ppm, expected) in [
            (400_000, "40.0 %"),
            (12_100, "1.2 %"),
            (3_400, "0.3 %"),
            (950, "0.1 %"),
            (949, "0.09 %"),
            (34, "0.003 %"),
            (7, "0.0007 %"),
            (999_999, "100.0 %"),
        ] {
            assert_eq!(Text::new().percent(ppm).as_str(), expected, "{ppm}");
        }
        let beside = |ppm, other| Text::new().percent_beside(ppm, other).as_str().to_owned();
        assert_eq!(
            beside(10_231, 10_000),
            "1.02 %",
            "and not 1.0 %, which is allowed"
        );
        assert_eq!(beside(10_001, 10_000), "1.0001 %");
        assert_eq!(beside(12_100, 10_000), "1.2 %");
        let traffic = Text::new().traffic(500, Duration::from_millis(50));
        assert_eq!(traffic.as_str(), "0.5 calls a second of 50 ms");
    }

    #[test]
    fn what_is_too_long_is_cut_off_between_two_characters() {
        let text = Text::new().str(&"é".repeat(CAPACITY)).str("never seen");
        assert_eq!(text.as_str(), "é".repeat(CAPACITY / 2));
        let text = Text::new().str("a").str(&"é".repeat(CAPACITY));
        assert_eq!(text.as_str().len(), CAPACITY - 1);
    }

    #[test]
    fn characters_of_every_width_are_found() {
        let text = "aé€🦀";
        for (at, c) in text.char_indices() {
            assert_eq!(char_at(text, at), c, "at byte {at}");
        }
    }
}
