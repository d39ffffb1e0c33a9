//! The places of a half-open state: which probes are out and until when, and how many have succeeded.
//!
//! | a place is | moves to | on |
//! |---|---|---|
//! | free | out | [`Probes::take`] |
//! | out | free | [`Probes::give_back`], unless it has outlived its expiry |
//! | out | succeeded | [`Probes::succeed`] |
//!
//! There are as many as successes are needed, so at no time are more probes out than are missing. A
//! failure is no move of a place: it ends the whole state.

use crate::time::Stamp;

/// Which probe of its era it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProbeNumber(u32);

#[derive(Debug)]
struct Out {
    number: ProbeNumber,
    expires: Stamp,
}

#[derive(Debug)]
pub(super) struct Probes {
    needed: u32,
    succeeded: u32,
    /// How many were ever taken. A number is given once, so that a late result is not taken for that of
    /// the probe which now has the place.
    taken: u32,
    out: Vec<Out>,
}

impl Probes {
    pub(super) const fn new(needed: u32) -> Self {
        Self {
            needed,
            succeeded: 0,
            taken: 0,
            out: Vec::new(),
        }
    }

    pub(super) fn has_place(&self) -> bool {
        self.out.len() < (self.needed - self.succeeded) as usize
    }

    pub(super) fn take(&mut self, expires: Stamp) -> Option<ProbeNumber> {
        self.has_place().then(|| {
            let number = ProbeNumber(self.taken);
            self.taken = self.taken.wrapping_add(1);
            self.out.push(Out { number, expires });
            number
        })
    }

    pub(super) fn is_out(&self, number: ProbeNumber) -> bool {
        self.out.iter().any(|out| out.number == number)
    }

    #[cfg(feature = "tower")]
    pub(super) fn extend(&mut self, number: ProbeNumber, expires: Stamp) {
        let out = self.out.iter_mut().find(|out| out.number == number);
        if let Some(out) = out {
            out.expires = out.expires.max(expires);
        }
    }

    /// One that has outlived its expiry stays out: it has failed, and whoever looks next is to see it.
    pub(super) fn give_back(&mut self, number: ProbeNumber, now: Stamp) {
        self.out
            .retain(|out| out.number != number || out.expires < now);
    }

    /// Whether that was the last one needed.
    pub(super) fn succeed(&mut self, number: ProbeNumber) -> bool {
        let before = self.out.len();
        self.out.retain(|out| out.number != number);
        if self.out.len() < before {
            self.succeeded += 1;
        }
        self.succeeded == self.needed
    }

    /// When the first of those that are out expires.
    pub(super) fn first_expiry(&self) -> Option<Stamp> {
        self.out.iter().map(|out| out.expires).min()
    }

    /// When the first expired, if one has outlived its expiry at `now`.
    pub(super) fn outlived(&self, now: Stamp) -> Option<Stamp> {
        self.first_expiry().filter(|&expires| expires < now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(probes: &mut Probes, expires: u64) -> ProbeNumber {
        probes.take(Stamp(expires)).expect("there is a place")
    }

    #[test]
    fn no_more_are_out_than_successes_are_missing() {
        let mut probes = Probes::new(2);
        let first = take(&mut probes, 10);
        let second = take(&mut probes, 10);
        assert_eq!(probes.take(Stamp(10)), None);
        assert!(!probes.succeed(first), "one is missing");
        assert_eq!(probes.take(Stamp(10)), None, "and that one is out");
        assert!(probes.succeed(second), "the last");
        assert!(!probes.has_place(), "none is needed any more");
    }

    #[test]
    fn a_probe_counts_once() {
        let mut probes = Probes::new(2);
        let first = take(&mut probes, 10);
        assert!(
            !probes.succeed(first) && !probes.succeed(first),
            "the same one"
        );
        assert!(!probes.is_out(first), "it has ended");
    }

    #[test]
    fn a_place_that_was_given_back_is_not_the_old_probes() {
        let mut probes = Probes::new(1);
        let old = take(&mut probes, 10);
        probes.give_back(old, Stamp(10));
        let new = take(&mut probes, 20);
        probes.give_back(old, Stamp(10));
        assert!(!probes.is_out(old) && probes.is_out(new), "{probes:?}");
        assert!(!probes.succeed(old), "it is out no more");
    }

    #[test]
    fn a_probe_that_has_outlived_its_expiry_cannot_be_given_back() {
        let mut probes = Probes::new(2);
        take(&mut probes, 30);
        let hung = take(&mut probes, 10);
        assert_eq!(probes.first_expiry(), Some(Stamp(10)));
        assert_eq!(probes.outlived(Stamp(10)), None, "to the last nanosecond");
        probes.give_back(hung, Stamp(11));
        assert_eq!(probes.outlived(Stamp(11)), Some(Stamp(10)));
        probes.give_back(hung, Stamp(10));
        assert_eq!(probes.outlived(Stamp(29)), None);
    }
}
