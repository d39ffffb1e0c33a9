//! The gate of a partition: its word, its wait list, and the counts of what passed.
//!
//! A call that finds room costs one compare-exchange on the word, and its release one addition. The
//! lock is taken only when somebody waits or is about to. Four orders make that safe:
//!
//! * *Joining against a release.* A newcomer raises the flag "somebody waits" in a compare-exchange
//!   on a word that has no room. Either a release came before, and it fails and finds the room; or
//!   the release comes after, sees the flag, and goes to the lock.
//! * *A release on its way to the lock.* Between its subtraction and its lock there is room and
//!   somebody waits. A newcomer may not take that room, and may not be rejected for it either: it
//!   takes the lock and hands the room over itself, then looks again.
//! * *A resize or a close against an admission.* Both change the word, so an exchange that was decided
//!   before them fails, and is decided anew.
//! * *An unclaimed grant.* The count of grants that nobody has claimed yet is readable without the
//!   lock and is raised before the word is. Whoever is about to reject, or to release, and sees it
//!   above zero first takes back what is overdue. So does a waiter when the one before it is out of
//!   time, since nobody else may come.
//!
//! Where somebody is to be told of saturation, the limit is one less, so that whoever takes the last permit
//! comes to the lock; [`saturation`] has that order, and the usual call knows nothing of it. Nor does it of a gate that
//! is closed, and of whoever waits there for the last one: [`closing`] has that.

mod arriving;
mod closing;
mod control;
mod saturation;
mod waiting;

pub(super) use arriving::Arrived;
pub(crate) use arriving::Obstacle;
pub(crate) use saturation::{Saturation, Watcher};

use std::fmt;
use std::task::Waker;
use std::time::Duration;

use super::counts::{Counts, Load, Mean};
use super::flight::Flight;
use super::terms::{Terms, Watch};
use super::waitlist::{Bound, Waitlist};
use super::word::Word;
use crate::foreign::harmless;
use crate::mode::Mode;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::sync::{AtomicU32, AtomicU64, Highest, Mutex, Ordering, OwnLine};
use crate::time::{Instant, Stamp};
use closing::Door;
use saturation::Episodes;

pub(crate) struct Gate {
    entrance: OwnLine<Entrance>,
    ledger: OwnLine<Mutex<Ledger>>,
    counts: OwnLine<Counts>,
}

/// What every call reads.
struct Entrance {
    word: AtomicU64,
    /// How many may be in flight before somebody looks closer: `max` as a rule. Written under the lock,
    /// before the word is changed.
    limit: AtomicU32,
    /// Granted and not claimed; written under the lock.
    unclaimed: AtomicU32,
    highest: Highest,
    mean: Mean,
    /// What holds now is the ledger's; these are its numbers for those that need no more than one of them.
    max: AtomicU32,
    queue: AtomicU32,
    wait: AtomicU64,
    mode: AtomicU32,
    /// The mean time of a call as the policy has it: with less time left there is no sense in beginning one.
    expected: Duration,
}

/// What only the lock protects, counts of what happens under it included.
struct Ledger {
    terms: Terms,
    watch: Watch,
    door: Door,
    /// Since when nobody comes in from outside.
    closed_since: Option<Instant>,
    episodes: Episodes,
    waitlist: Waitlist,
    highest_waiting: u32,
    /// Let in while it was observed, and would have been rejected.
    would_reject: u64,
    /// The same, and would have waited.
    would_wait: u64,
    /// Successes carried over from the word.
    successes: u64,
    wait_timeout: u64,
    deadline: u64,
    closed: u64,
    abandoned: u64,
}

/// What a waiter finds when it looks.
pub(super) enum Turn<'g> {
    Waiting,
    /// The permit is the caller's since the instant.
    Admitted(Flight<'g>, Instant),
    /// It has left the queue for this reason.
    Over(Over),
}

/// Why a waiter got no permit. It is counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Over {
    Late(Load),
    Closed(Load),
    /// A breaker opened.
    Open,
}

/// How a waiter leaves the queue without a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    Late(Bound),
    /// It joined just when a breaker opened.
    Open,
    Abandoned,
}

/// Where the permit of a grant comes from.
#[derive(Debug, Clone, Copy)]
enum Room {
    /// Nobody has it.
    Free,
    /// From a call that ends.
    PassedOn { success: bool },
}

impl Room {
    /// The word after the grant, if there is room for it.
    fn taken_from(self, word: Word, limit: u32) -> Option<Word> {
        match self {
            Self::Free => word.has_room(limit).then(|| word.plus_one()),
            Self::PassedOn { success } => word.may_pass_on(limit).then(|| word.passed_on(success)),
        }
    }
}

impl Gate {
    pub(crate) fn new(policy: Policy, watcher: &'static dyn Watcher) -> Self {
        let terms = Terms::of(policy);
        let entrance = Entrance {
            word: AtomicU64::new(Word::idle(terms.places()).0),
            limit: AtomicU32::new(terms.limit(Watch::Nothing)),
            unclaimed: AtomicU32::new(0),
            highest: Highest::default(),
            mean: Mean::default(),
            max: AtomicU32::new(terms.max),
            queue: AtomicU32::new(terms.queue),
            wait: AtomicU64::new(packed(terms.wait)),
            mode: AtomicU32::new(terms.mode as u32),
            expected: match policy.measured() {
                Some(measured) => measured.mean(),
                None => Duration::ZERO,
            },
        };
        let ledger = Ledger {
            terms,
            watch: Watch::Nothing,
            door: Door::Open,
            closed_since: None,
            episodes: Episodes::new(watcher),
            waitlist: Waitlist::new(),
            highest_waiting: 0,
            would_reject: 0,
            would_wait: 0,
            successes: 0,
            wait_timeout: 0,
            deadline: 0,
            closed: 0,
            abandoned: 0,
        };
        Self {
            entrance: OwnLine(entrance),
            ledger: OwnLine(Mutex::new(ledger)),
            counts: OwnLine(Counts::default()),
        }
    }

    /// The longest time in the queue.
    pub(super) fn wait(&self) -> Duration {
        unpacked(self.entrance.wait.load(Ordering::Relaxed))
    }

    /// The latest instant at which a call can begin that has to be done by `deadline`.
    pub(crate) fn latest_start(&self, deadline: Instant) -> Instant {
        let expected = self.entrance.expected;
        deadline.checked_sub(expected).unwrap_or(deadline)
    }

    /// The mean time of a call, as it was measured; zero where it was not.
    #[inline]
    pub(crate) fn expected(&self) -> Duration {
        self.entrance.expected
    }

    /// Whether it rejects.
    #[inline]
    pub(crate) fn mode_now(&self) -> Mode {
        Mode::of(self.entrance.mode.load(Ordering::Relaxed))
    }

    /// Calls that may wait.
    #[inline]
    pub(crate) fn queue(&self) -> u32 {
        self.entrance.queue.load(Ordering::Relaxed)
    }

    /// For how long a permit was held. One that was taken for a call which then did not start says nothing.
    #[cold]
    pub(super) fn sample(&self, since: Stamp, outcome: Outcome) {
        if outcome != Outcome::Unstarted {
            self.entrance.mean.sample(since.elapsed());
        }
    }

    /// One call fewer in flight, counted as `outcome`; the permit goes to the head of the queue.
    #[inline]
    pub(super) fn leave(&self, outcome: Outcome) {
        self.recover();
        let word = self.word();
        if word.is_unusual_to_leave() {
            return self.leave_otherwise(word, outcome);
        }
        // Counted before the permit is free, so that whoever is admitted on it sees the count.
        self.counts.ended(outcome);
        self.give_up(outcome == Outcome::Success);
    }

    /// Where somebody waits, or where what ends is not counted.
    #[inline(never)]
    fn leave_otherwise(&self, word: Word, outcome: Outcome) {
        if !word.is_off() {
            self.counts.ended(outcome);
            return self.pass_on(outcome == Outcome::Success);
        }
        if self.release(false).leaves_something() {
            self.hand_over();
        }
    }

    /// Gives a permit straight to the head of the queue, without a moment in which it is free.
    fn pass_on(&self, success: bool) {
        let mut ledger = self.ledger.lock();
        let Some((waker, word)) = self.grant(&mut ledger, Room::PassedOn { success }) else {
            drop(ledger);
            return self.give_up(success);
        };
        let leaves_something = leaves_something(&ledger, word);
        drop(ledger);
        if word.times_after(success) {
            self.time_next();
        }
        wake(waker);
        if leaves_something {
            self.hand_over();
        }
    }

    #[inline]
    fn give_up(&self, success: bool) {
        let word = self.release(success);
        if word.times_after(success) {
            self.time_next();
        }
        if word.leaves_something() {
            self.hand_over();
        }
    }

    #[cold]
    fn time_next(&self) {
        self.entrance.word.fetch_or(Word::TIMED, Ordering::AcqRel);
    }

    /// Whether the call that claims its grant is timed.
    fn takes_its_time(&self) -> bool {
        let timed = self.word().times_next();
        if timed {
            self.entrance.word.fetch_and(!Word::TIMED, Ordering::AcqRel);
        }
        timed
    }

    /// Hands room to those that wait, until there is no more of one or of the other; what is free then is told
    /// of, and that a closed gate is empty.
    #[cold]
    pub(crate) fn hand_over(&self) {
        loop {
            let mut ledger = self.ledger.lock();
            self.carry(&mut ledger);
            let (waker, word) = self.grant(&mut ledger, Room::Free).unzip();
            let leaves_something = word.is_some_and(|word| leaves_something(&ledger, word));
            // Not between two grants: room that goes on to a waiter was never free.
            let notice =
                (!leaves_something).then(|| self.mark(&mut ledger).with_empty(self.word()));
            drop(ledger);
            wake(waker.flatten());
            if let Some(notice) = notice {
                return notice.tell();
            }
        }
    }

    /// Grants a permit to the head of the queue if there is one, and room for it. Tells the word as it
    /// is then; the waker is to be woken after unlocking.
    fn grant(&self, ledger: &mut Ledger, room: Room) -> Option<(Option<Waker>, Word)> {
        let waiting = ledger.waitlist.waiting().checked_sub(1)?;
        let limit = ledger.terms.room();
        let mut word = self.word();
        room.taken_from(word, limit)?;
        // Raised before the word is: who finds no room because of this grant must find the grant.
        self.tell_unclaimed(ledger.waitlist.granted() + 1);
        while let Some(next) = room.taken_from(word, limit) {
            let next = next.with_waiting(waiting, ledger.terms.places());
            match self.exchange(word, next) {
                Ok(()) => {
                    self.entrance.highest.raise(next.in_flight());
                    return Some((ledger.waitlist.grant_head(), next));
                }
                Err(changed) => word = changed,
            }
        }
        self.tell_unclaimed(ledger.waitlist.granted());
        None
    }

    /// Releases the permit of a grant that is already off the list.
    fn give_back(&self, ledger: &Ledger) {
        self.tell_unclaimed(ledger.waitlist.granted());
        self.release(false);
    }

    /// Under the lock only.
    fn tell_unclaimed(&self, unclaimed: u32) {
        self.entrance.unclaimed.store(unclaimed, Ordering::Release);
    }

    fn carry(&self, ledger: &mut Ledger) {
        let mut word = self.word();
        while word.must_carry() {
            let (rest, carried) = word.carried();
            match self.exchange(word, rest) {
                Ok(()) => return ledger.successes += carried,
                Err(changed) => word = changed,
            }
        }
    }

    /// The word that it leaves behind.
    #[inline]
    fn release(&self, success: bool) -> Word {
        let change = Word::release(success);
        Word(
            self.entrance
                .word
                .fetch_add(change, Ordering::AcqRel)
                .wrapping_add(change),
        )
    }

    /// Read after the word, it is the limit that the word stands for, or a newer one.
    #[inline]
    fn limit(&self) -> u32 {
        self.entrance.limit.load(Ordering::Acquire)
    }

    #[inline]
    fn word(&self) -> Word {
        Word(self.entrance.word.load(Ordering::Acquire))
    }

    #[inline]
    fn exchange(&self, from: Word, to: Word) -> Result<(), Word> {
        self.entrance
            .word
            .compare_exchange_weak(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Word)
    }

    #[inline]
    fn unclaimed(&self) -> u32 {
        self.entrance.unclaimed.load(Ordering::Acquire)
    }

    fn count(&self, ledger: &mut Ledger, leaving: Leaving) {
        let count = match leaving {
            Leaving::Late(Bound::Wait) => &mut ledger.wait_timeout,
            Leaving::Late(Bound::Deadline) => &mut ledger.deadline,
            Leaving::Open => return self.counts.rejected_by_breaker(1),
            Leaving::Abandoned => &mut ledger.abandoned,
        };
        *count += 1;
    }

    fn load_at(&self, word: Word, waiting: u32) -> Load {
        Load {
            in_flight: word.in_flight(),
            max: self.max_now(),
            waiting,
            mean: self.entrance.mean.get(),
        }
    }
}

/// Names itself only: what is inside would be written under the lock, into foreign code.
impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

/// Whether somebody has to look at the list again after the grant that made `word`. What a later release
/// adds to it is that one's to hand over.
#[inline]
fn leaves_something(ledger: &Ledger, word: Word) -> bool {
    word.has_waiters() && word.has_room(ledger.terms.room()) || word.must_carry()
}

/// A time of at most [`MAX_DURATION`](crate::policy::MAX_DURATION) in a number that every waiter unpacks: seconds
/// and nanoseconds side by side, because a division would cost it more than the rest.
fn packed(duration: Duration) -> u64 {
    duration.as_secs() << 30 | u64::from(duration.subsec_nanos())
}

fn unpacked(packed: u64) -> Duration {
    Duration::new(packed >> 30, (packed & ((1 << 30) - 1)) as u32)
}

/// Wakes, outside every lock. A waker is foreign code, and those behind it must not be stranded by
/// what it does.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        harmless(|| waker.wake());
    }
}

#[cfg(test)]
#[cfg(not(bulkhead_loom))]
mod tests {
    use super::*;

    struct Nobody;

    impl Watcher for Nobody {
        fn saturation(&'static self, _: Saturation) {}
        fn emptied(&'static self) {}
    }

    #[test]
    fn no_success_is_lost_when_the_word_is_full_of_them() {
        let gate = Gate::new(Policy::new(1), &Nobody);
        let before = gate.preset_successes_to_the_brink();
        for counted in 1..=3 {
            let mut flight = gate.try_enter().expect("there is room");
            flight.means(Outcome::Success);
            drop(flight);
            assert_eq!(gate.tally().outcomes.success, before + counted);
            assert_eq!(
                gate.tally().in_flight,
                0,
                "nothing ran over into another field"
            );
        }
    }

    #[test]
    fn a_wait_of_every_length_comes_out_as_it_went_in() {
        for wait in [
            Duration::ZERO,
            Duration::from_millis(1),
            Duration::from_nanos(1_999_999_999),
            crate::policy::MAX_DURATION,
        ] {
            assert_eq!(unpacked(packed(wait)), wait);
        }
    }

    #[test]
    fn a_partition_takes_little_memory() {
        let size = size_of::<crate::partition::Live>();
        assert!(size <= 512, "{size} bytes");
    }
}
