//! The layout of the one atomic word that decides, and the decisions on it. Pure: no atomics here.
//!
//! | bits | field | changes |
//! |---|---|---|
//! | 0–20 | in flight, granted ones included | without the lock |
//! | 21 | somebody waits | under the lock |
//! | 22 | the queue has no place left | under the lock |
//! | 23 | closed, for all or for those outside | under the lock |
//! | 24–29 | how often the limit was changed, modulo 64 | under the lock |
//! | 30 | off: what ends is not counted | under the lock |
//! | 31 | saturated, and somebody is told of that | under the lock |
//! | 32 | the next call is timed | without the lock |
//! | 33–63 | successes not yet carried into the ledger | without the lock |
//!
//! The flags that a release looks for are in the lower half: a test of those is one instruction.
//!
//! The limit itself, which is `max` as a rule, stands beside the word: there is no space for it here. A
//! resize stores it first and then changes the word; whoever has read the word, then the limit, and still
//! finds the same word when it exchanges it, has therefore decided by a limit that holds.
//!
//! Successes are counted here because a release has to write the word anyway: the usual call then
//! costs two atomic operations and not three.

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(pub(super) u64);

const IN_FLIGHT: u64 = CEILING as u64;

/// No more can be in flight than the word can count, in any mode.
pub(super) const CEILING: u32 = (1 << 21) - 1;

const WAITERS: u64 = 1 << 21;
const QUEUE_FULL: u64 = 1 << 22;
const CLOSED: u64 = 1 << 23;
const RESIZED: u64 = 1 << 24;
const RESIZES: u64 = 0x3f << 24;
const OFF: u64 = 1 << 30;
const SATURATED: u64 = 1 << 31;
const TIMED: u64 = 1 << 32;
const SUCCESS: u64 = 1 << 33;

/// Half of what the success field can hold. From here on a releaser carries it into the ledger; the
/// other half is room for those that release in the meantime.
const CARRY: u64 = 1 << 30;

/// Of calls that succeed, one is timed in this many, so that the mean time of a call is known without
/// reading the clock twice in each.
const SAMPLE: u64 = 64;

impl Word {
    /// Nothing in flight. A queue of no places is full from the start.
    pub(super) const fn idle(queue: u32) -> Self {
        Self(TIMED).with_waiting(0, queue)
    }

    /// Whether a newcomer is let in without a closer look: there is room below `limit`, and nobody waits for it.
    pub(super) const fn admits(self, limit: u32) -> bool {
        self.0 & (CLOSED | WAITERS) == 0 && self.has_room(limit)
    }

    /// Whether there is neither one of `max` permits nor a place in the queue, and that is the reason why nobody
    /// is let in.
    pub(super) const fn is_full(self, max: u32) -> bool {
        self.0 & (CLOSED | QUEUE_FULL) == QUEUE_FULL && !self.has_room(max)
    }

    pub(super) const fn in_flight(self) -> u32 {
        (self.0 & IN_FLIGHT) as u32
    }

    pub(super) const fn has_room(self, limit: u32) -> bool {
        self.in_flight() < limit
    }

    pub(super) const fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }

    /// Nobody is in flight, granted ones included, and nobody waits.
    pub(super) const fn is_empty(self) -> bool {
        self.0 & (IN_FLIGHT | WAITERS) == 0
    }

    pub(super) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(super) const fn with_closed(self, closed: bool) -> Self {
        Self(if closed {
            self.0 | CLOSED
        } else {
            self.0 & !CLOSED
        })
    }

    pub(super) const fn is_off(self) -> bool {
        self.0 & OFF != 0
    }

    /// Whether a call that ends has more to do than to be counted and to give up its permit.
    pub(super) const fn is_unusual_to_leave(self) -> bool {
        self.0 & (WAITERS | OFF) != 0
    }

    pub(super) const fn with_off(self, off: bool) -> Self {
        Self(if off { self.0 | OFF } else { self.0 & !OFF })
    }

    /// Whether somebody was told that it is saturated, and is to be told when it is not any more.
    pub(super) const fn is_saturated(self) -> bool {
        self.0 & SATURATED != 0
    }

    pub(super) const fn with_saturated(self, saturated: bool) -> Self {
        Self(if saturated {
            self.0 | SATURATED
        } else {
            self.0 & !SATURATED
        })
    }

    /// Whether there is something to do under the lock after the release that left this word behind. Somebody may
    /// wait for the last one to leave a closed gate.
    pub(super) const fn leaves_something(self) -> bool {
        self.0 & (WAITERS | CLOSED | SATURATED) != 0 || self.must_carry()
    }

    /// Another word than before, so that no exchange by the old limit succeeds.
    pub(super) const fn resized(self) -> Self {
        Self(self.0 & !RESIZES | (self.0.wrapping_add(RESIZED) & RESIZES))
    }

    /// Whether a permit that comes back may go on to a waiter: not after a shrink that it exceeds.
    pub(super) const fn may_pass_on(self, limit: u32) -> bool {
        self.in_flight() <= limit
    }

    /// The same number in flight, and one success more if that is how the call before ended.
    pub(super) const fn passed_on(self, success: bool) -> Self {
        Self(if success { self.0 + SUCCESS } else { self.0 })
    }

    pub(super) const fn plus_one(self) -> Self {
        Self(self.0 + 1)
    }

    /// The same with the flags that `waiting` calls in a queue of `queue` places stand for.
    pub(super) const fn with_waiting(self, waiting: u32, queue: u32) -> Self {
        let waiters = if waiting > 0 { WAITERS } else { 0 };
        let full = if waiting >= queue { QUEUE_FULL } else { 0 };
        Self(self.0 & !(WAITERS | QUEUE_FULL) | waiters | full)
    }

    pub(super) const fn successes(self) -> u64 {
        self.0 / SUCCESS
    }

    /// The word with a newcomer in flight; whoever is to be timed, it is this one.
    pub(super) const fn admitted(self) -> Self {
        Self((self.0 & !TIMED) + 1)
    }

    /// Whether the call that is admitted on this word is timed.
    pub(super) const fn times_next(self) -> bool {
        self.0 & TIMED != 0
    }

    /// Whether the call after the one that left this word behind is timed. In an outage it is every one
    /// that comes after a call that did not succeed: they are few, and their time is what has changed.
    pub(super) const fn times_after(self, success: bool) -> bool {
        !success || self.successes().is_multiple_of(SAMPLE)
    }

    pub(super) const TIMED: u64 = TIMED;

    pub(super) const fn must_carry(self) -> bool {
        self.successes() >= CARRY
    }

    /// The same word with [`CARRY`] successes fewer.
    pub(super) const fn carried(self) -> (Self, u64) {
        (Self(self.0 - CARRY * SUCCESS), CARRY)
    }

    /// What a release adds to the word: one call fewer in flight, and one success if it was one.
    pub(super) const fn release(success: bool) -> u64 {
        let one_fewer = 0_u64.wrapping_sub(1);
        if success {
            one_fewer.wrapping_add(SUCCESS)
        } else {
            one_fewer
        }
    }

    #[cfg(test)]
    pub(super) const fn on_the_brink_of_a_carry(self) -> Self {
        self.with_successes(CARRY - 1)
    }

    #[cfg(test)]
    pub(super) const fn with_successes(self, successes: u64) -> Self {
        Self(self.0 % SUCCESS + successes * SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::MAX_PERMITS;

    fn release(word: Word, success: bool) -> Word {
        Word(word.0.wrapping_add(Word::release(success)))
    }

    #[test]
    fn a_newcomer_is_admitted_only_into_room_that_nobody_waits_for() {
        let one = Word::idle(1).admitted();
        assert!(Word::idle(1).admits(1), "there is one permit");
        assert_eq!(one.in_flight(), 1);
        assert!(
            Word::idle(1).times_next() && !one.times_next(),
            "the first is timed"
        );
        assert!(
            !one.admits(1) && !one.is_full(1),
            "a place in the queue is left"
        );
        let queued = one.with_waiting(1, 1);
        assert!(!queued.admits(1) && queued.is_full(1));
        assert!(
            !queued.admits(2) && !queued.is_full(2),
            "there is room, but it is the waiter's"
        );
        assert!(one.with_waiting(0, 0).is_full(1), "no queue at all");
    }

    #[test]
    fn who_is_looked_at_more_closely_is_not_rejected_for_it() {
        let one = Word::idle(0).admitted();
        assert!(!one.admits(1), "the second of two permits is the last one");
        assert!(!one.is_full(2), "and it is free");
    }

    #[test]
    fn saturated_is_a_flag_of_its_own() {
        let word = Word::idle(1)
            .plus_one()
            .with_waiting(1, 1)
            .with_successes(9);
        let saturated = word.with_saturated(true);
        assert!(saturated.is_saturated() && !word.is_saturated());
        assert_eq!(saturated.with_saturated(false), word);
        assert_eq!(
            (
                saturated.in_flight(),
                saturated.successes(),
                saturated.times_next()
            ),
            (1, 9, word.times_next())
        );
        assert!(!Word::idle(0).leaves_something());
        assert!(
            Word::idle(0).with_saturated(true).leaves_something(),
            "the release is to tell"
        );
        assert!(
            release(saturated, true).is_saturated(),
            "until somebody has told, under the lock"
        );
    }

    #[test]
    fn a_closed_gate_admits_nobody_and_a_resize_changes_nothing_but_the_word() {
        let word = Word::idle(1)
            .plus_one()
            .with_waiting(1, 1)
            .with_successes(9);
        let closed = word.with_closed(true);
        assert!(!closed.admits(MAX_PERMITS) && !closed.is_full(1));
        assert!(
            Word::idle(0).with_closed(true).leaves_something(),
            "somebody may wait for the last one"
        );
        assert_eq!(word.with_closed(true).with_closed(false), word);
        assert!(word.with_off(true).is_off() && !word.is_off());
        assert_eq!(word.with_off(true).with_off(false), word);
        let mut resized = word;
        for _ in 0..64 {
            assert_eq!(
                (
                    resized.in_flight(),
                    resized.has_waiters(),
                    resized.successes(),
                    resized.is_closed() || resized.is_off() || resized.is_saturated()
                ),
                (1, true, 9, false)
            );
            assert_ne!(resized.resized(), resized);
            resized = resized.resized();
        }
        assert_eq!(resized, word, "modulo 64");
    }

    #[test]
    fn a_release_counts_a_success_and_touches_nothing_else() {
        let full =
            (0..MAX_PERMITS).fold(Word::idle(3).with_waiting(2, 3), |word, _| word.plus_one());
        assert_eq!(full.in_flight(), MAX_PERMITS);
        assert!(
            !full.is_empty() && !Word::idle(1).with_waiting(1, 1).is_empty(),
            "in flight or waiting"
        );
        assert!(Word::idle(1).with_closed(true).with_successes(9).is_empty());
        let released = release(full, true);
        assert_eq!(
            (released.in_flight(), released.successes()),
            (MAX_PERMITS - 1, 1)
        );
        assert!(released.has_waiters() && !released.is_full(0), "flags stay");
        assert_eq!(release(full, false).successes(), 0);
    }

    #[test]
    fn carrying_keeps_the_sum() {
        let word = Word::idle(0).with_successes(CARRY + 7);
        assert!(word.must_carry(), "half of the field is used");
        let (rest, carried) = word.carried();
        assert_eq!(rest.successes() + carried, CARRY + 7);
    }
}
