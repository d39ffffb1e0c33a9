//! How long a call waits before it tries again.
//!
//! Exponential with full jitter, as in "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): the limit
//! doubles from one attempt to the next, up to a cap ([`RetryPolicy::longest_backoff`](super::RetryPolicy)), and the
//! time is drawn from nothing up to the limit. So calls that failed together do not come back together.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// A time from nothing up to `limit`.
pub(crate) fn draw(limit: Duration) -> Duration {
    let random = RandomState::new().hash_one(());
    fraction(limit, random)
}

/// `limit` × `random` ÷ 2^64.
fn fraction(limit: Duration, random: u64) -> Duration {
    let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let drawn = (u128::from(limit) * u128::from(random)) >> 64;
    Duration::from_nanos(u64::try_from(drawn).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_fraction_is_between_nothing_and_the_limit() {
        assert_eq!(fraction(100 * MS, 0), Duration::ZERO);
        assert_eq!(fraction(100 * MS, 1 << 63), 50 * MS);
        let most = fraction(100 * MS, u64::MAX);
        assert!(most < 100 * MS && most > 99 * MS, "{most:?}");
    }

    /// Ten tenths, a thousand draws: none is empty, and none has a fifth of them, but once in about 10^20 runs.
    #[test]
    fn draws_are_spread_over_the_whole_range() {
        let mut tenths = [0; 10];
        for _ in 0..1_000 {
            let drawn = draw(100 * MS);
            tenths[(drawn.as_nanos() / 10_000_000) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|&count| (1..200).contains(&count)),
            "{tenths:?}"
        );
    }
}
