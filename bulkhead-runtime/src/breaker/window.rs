//! The calls of the last `window`, as partial sums. Pure: it takes `now` and knows no clock.
//!
//! Time is cut into slices of a tenth of the window, at fixed marks; each of ten buckets holds the sum of
//! one slice, and its place in the array is the number of the slice modulo ten. So a call is recorded
//! in constant time and forgotten in constant time, at any traffic, and nothing is allocated. It is
//! the time-based sliding window of resilience4j, whose slices are seconds.
//!
//! # What that leaves out
//!
//! A slice is forgotten as a whole, when the slice ten later begins. A call is therefore remembered for
//! more than nine tenths of the window and never for longer than the window. In steady traffic the sums
//! are those of 95 % of it on average; shares, which are what decides, are not biased by that. A bucket
//! counts to 2³² − 1 and stays there.
//!
//! # When the clock misbehaves
//!
//! Threads reach the breaker in another order than they read the clock in, so `now` can lie before what
//! was recorded last; such a call counts in the newest slice, at most a slice late. If the clock stands
//! still, everything falls into one bucket. If it jumps ahead, however far, ten buckets are emptied.

use std::time::Duration;

use crate::time::Stamp;

/// How many slices the window has.
const BUCKETS: usize = 10;

const SLICES: u64 = BUCKETS as u64;

/// A call that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) failure: bool,
    pub(crate) slow: bool,
}

/// The calls of a window; those that failed and those that were slow are among all of them, and may be
/// the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) slow: u64,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    calls: u32,
    failures: u32,
    slow: u32,
}

const EMPTY: Bucket = Bucket {
    calls: 0,
    failures: 0,
    slow: 0,
};

#[derive(Debug)]
pub(crate) struct Window {
    /// Nanoseconds; never 0.
    slice: u64,
    /// The number of the newest slice. The buckets hold it and the nine before it, nothing older.
    newest: u64,
    buckets: [Bucket; BUCKETS],
}

impl Window {
    /// `window` is at least [`MIN_WINDOW`](super::settings::MIN_WINDOW), as settings have it.
    pub(crate) const fn new(window: Duration) -> Self {
        Self {
            slice: nanos(window) / SLICES,
            newest: 0,
            buckets: [EMPTY; BUCKETS],
        }
    }

    pub(crate) fn record(&mut self, now: Stamp, sample: Sample) {
        self.advance(self.slice_at(now));
        let bucket = &mut self.buckets[place(self.newest)];
        bucket.calls = bucket.calls.saturating_add(1);
        bucket.failures = bucket.failures.saturating_add(sample.failure.into());
        bucket.slow = bucket.slow.saturating_add(sample.slow.into());
    }

    /// Counts so many calls that were all good and ended at some time until `now`.
    pub(crate) fn record_good(&mut self, now: Stamp, calls: u32) {
        if calls == 0 {
            return;
        }
        self.advance(self.slice_at(now));
        let bucket = &mut self.buckets[place(self.newest)];
        bucket.calls = bucket.calls.saturating_add(calls);
    }

    /// The calls of the slice of `now`, if no call in any of them failed or was slow.
    pub(crate) fn calm_calls(&self, now: Stamp) -> u32 {
        let is_calm = |bucket: &Bucket| bucket.failures == 0 && bucket.slow == 0;
        if self.slice_at(now) == self.newest && self.buckets.iter().all(is_calm) {
            self.buckets[place(self.newest)].calls
        } else {
            0
        }
    }

    pub(crate) fn totals(&self, now: Stamp) -> Totals {
        let oldest = (self.slice_at(now) + 1).saturating_sub(SLICES);
        let mut totals = Totals::default();
        for slice in oldest..=self.newest {
            let bucket = self.buckets[place(slice)];
            totals.calls += u64::from(bucket.calls);
            totals.failures += u64::from(bucket.failures);
            totals.slow += u64::from(bucket.slow);
        }
        totals
    }

    fn advance(&mut self, to: u64) {
        let emptied = (to - self.newest).min(SLICES);
        for slice in self.newest + 1..=self.newest + emptied {
            self.buckets[place(slice)] = EMPTY;
        }
        self.newest = to;
    }

    /// The slice of `now`, or the newest where that is later.
    fn slice_at(&self, now: Stamp) -> u64 {
        (now.0 / self.slice).max(self.newest)
    }
}

const fn place(slice: u64) -> usize {
    (slice % SLICES) as usize
}

/// Nanoseconds, up to the 584 years that a stamp can tell.
#[expect(clippy::cast_possible_truncation, reason = "what is larger is cut off")]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let nanos = duration.as_nanos();
    if nanos > u64::MAX as u128 {
        u64::MAX
    } else {
        nanos as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;
    const FAILED: Sample = Sample {
        failure: true,
        slow: false,
    };
    const SLOW: Sample = Sample {
        failure: false,
        slow: true,
    };

    /// A second in slices of 100 ms.
    fn window() -> Window {
        Window::new(Duration::from_secs(1))
    }

    fn at(ms: u64) -> Stamp {
        Stamp(ms * MS)
    }

    #[test]
    fn a_call_is_remembered_for_nine_tenths_and_never_beyond_the_window() {
        for recorded in [500, 550, 599] {
            let mut window = window();
            window.record(at(recorded), FAILED);
            let last = Stamp(1_500 * MS - 1);
            assert_eq!(window.totals(last).calls, 1, "recorded at {recorded}");
            assert_eq!(window.totals(at(1_500)).calls, 0, "recorded at {recorded}");
        }
    }

    #[test]
    fn a_window_that_rolls_forgets_slice_by_slice() {
        let mut window = window();
        for ms in (0..1_000).step_by(10) {
            window.record(at(ms), FAILED);
        }
        assert_eq!(window.totals(at(999)).calls, 100);
        window.record(at(1_000), SLOW);
        let rolled = Totals {
            calls: 91,
            failures: 90,
            slow: 1,
        };
        assert_eq!(window.totals(at(1_000)), rolled);
        assert_eq!(window.totals(at(1_450)).calls, 51);
    }

    #[test]
    fn a_look_forgets_nothing() {
        let mut window = window();
        window.record(at(0), FAILED);
        assert_eq!(window.totals(at(5_000)).calls, 0);
        assert_eq!(window.totals(at(900)).calls, 1);
    }

    #[test]
    fn a_clock_that_stands_still_counts_on() {
        let mut window = window();
        for _ in 0..1_000 {
            window.record(at(77), FAILED);
        }
        assert_eq!(window.totals(at(77)).failures, 1_000);
    }

    #[test]
    fn a_clock_that_jumps_far_ahead_empties_everything() {
        for jump in [2_000 * MS, 3_600_000 * MS, u64::MAX] {
            let mut window = window();
            for ms in 0..1_000 {
                window.record(at(ms), FAILED);
            }
            window.record(Stamp(jump), SLOW);
            let one = Totals {
                calls: 1,
                failures: 0,
                slow: 1,
            };
            assert_eq!(window.totals(Stamp(jump)), one, "a jump to {jump}");
        }
    }

    #[test]
    fn a_late_thread_counts_in_the_newest_slice() {
        let mut window = window();
        window.record(at(5_000), SLOW);
        window.record(at(100), FAILED);
        assert_eq!(window.totals(at(100)).calls, 2);
        assert_eq!(window.totals(at(5_999)).failures, 1);
        assert_eq!(window.totals(at(6_000)).calls, 0);
    }

    #[test]
    fn a_full_bucket_stays_full() {
        let mut window = window();
        window.record(at(0), FAILED);
        window.buckets[0] = Bucket {
            calls: u32::MAX,
            failures: u32::MAX,
            slow: u32::MAX,
        };
        let before = window.totals(at(0));
        let both = Sample {
            failure: true,
            slow: true,
        };
        window.record(at(0), both);
        assert_eq!(window.totals(at(0)), before);
    }

    #[test]
    fn it_is_small_enough_to_have_one_in_every_partition() {
        assert_eq!(size_of::<Window>(), 136);
    }

    proptest! {
        /// Against a list of all that was ever recorded, with the slice in which it counts.
        #[test]
        fn behaves_like_a_list_of_all_calls(
            window in 100_000_000..2_000_000_000_u64,
            start in prop_oneof![Just(0), any::<u32>().prop_map(u64::from), Just(u64::MAX / 2)],
            steps in prop::collection::vec((-30..140_i64, any::<bool>(), any::<bool>(), any::<bool>()), 0..120),
        ) {
            let slice = window / 10;
            let mut subject = Window::new(Duration::from_nanos(window));
            let mut all: Vec<(u64, Sample)> = Vec::new();
            let mut now = start;
            for (percent, failure, slow, record) in steps {
                // Up to 14 slices ahead, and up to three back.
                now = now.saturating_add_signed(i64::try_from(slice).expect("it is short") / 10 * percent);
                let newest = all.iter().map(|&(slice, _)| slice).max().unwrap_or(0);
                let current = newest.max(now / slice);
                if record {
                    let sample = Sample { failure, slow };
                    subject.record(Stamp(now), sample);
                    all.push((current, sample));
                }
                let count = |which: fn(&Sample) -> bool| all.iter()
                    .filter(|(slice, sample)| slice + 10 > current && which(sample))
                    .count() as u64;
                let expected = Totals {
                    calls: count(|_| true),
                    failures: count(|sample| sample.failure),
                    slow: count(|sample| sample.slow),
                };
                prop_assert_eq!(subject.totals(Stamp(now)), expected);
            }
        }
    }
}
