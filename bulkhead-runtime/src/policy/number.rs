//! Numbers as all policies have them.

use std::time::Duration;

/// Parts in a million: what shares are counted in.
pub(crate) const PPM: u32 = 1_000_000;

/// Percent in parts of a million: 0 for what is below it, or no number at all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to u32 saturates, and the ends of its range are refused"
)]
pub(crate) const fn ppm(percent: f64) -> u32 {
    (percent * (PPM / 100) as f64 + 0.5) as u32
}

/// `a < b`; the trait's operator cannot be called in a `const fn`.
pub(crate) const fn less(a: Duration, b: Duration) -> bool {
    a.as_nanos() < b.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_share_is_at_an_end_of_the_range() {
        assert_eq!([ppm(0.0), ppm(0.000_1), ppm(100.0)], [0, 1, PPM]);
        for percent in [f64::NAN, -0.1, f64::NEG_INFINITY] {
            assert_eq!(ppm(percent), 0, "{percent}");
        }
        assert_eq!(ppm(f64::INFINITY), u32::MAX);
    }
}
