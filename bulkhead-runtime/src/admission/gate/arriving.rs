//! The gate as newcomers see it: in at once, into the queue, or out.

use std::task::Waker;

use super::{Gate, Ledger, Room, wake};
use crate::admission::counts::Load;
use crate::admission::flight::Flight;
use crate::admission::rejection::Rejection;
use crate::admission::terms::Terms;
use crate::admission::waitlist::{Bound, SlotIndex};
use crate::admission::word::{CEILING, Word};
use crate::foreign::drop_harmlessly;
use crate::mode::Mode;
use crate::time::{self, Instant};

/// What became of a newcomer that would wait.
pub(in crate::admission) enum Settled<'g> {
    Queued {
        slot: SlotIndex,
        /// When to look whether somebody before it is out of time.
        watch: Option<Instant>,
    },
    AtOnce(Result<Flight<'g>, Rejection>),
}

/// What a newcomer is ready to do, as far as it matters to whoever observes.
#[derive(Clone, Copy)]
struct Newcomer {
    may_wait: bool,
    /// Its deadline had passed before it came.
    is_spent: bool,
}

impl Newcomer {
    const NEVER_WAITS: Self = Self {
        may_wait: false,
        is_spent: false,
    };

    /// Whether it would have been rejected: there is neither a permit for it nor a place in the queue, had those
    /// before it waited there.
    fn has_no_place(self, word: Word, terms: Terms) -> bool {
        let places = if self.may_wait { terms.queue } else { 0 };
        self.is_spent || !word.has_room(terms.max + places)
    }
}

/// What the word says under the lock, when nothing is left to hand over.
enum Look<'g> {
    Admitted(Flight<'g>),
    Closed(Load),
    NoRoom,
    /// It has changed, or the room that there is has become the head's: look again.
    Changed,
}

impl Gate {
    /// The usual case, decided on the word alone. `None` only means that it is not the usual case.
    #[inline]
    pub(crate) fn enter_at_once(&self) -> Option<Flight<'_>> {
        let mut word = self.word();
        while word.admits(self.limit()) {
            let next = word.admitted();
            match self.exchange(word, next) {
                Ok(()) => {
                    self.entrance.highest.raise(next.in_flight());
                    return Some(Flight::begin(self, word.times_next()));
                }
                Err(changed) => word = changed,
            }
        }
        None
    }

    /// The usual rejection, decided without the lock, and counted.
    pub(in crate::admission) fn reject_at_once(&self) -> Option<Rejection> {
        let word = self.word();
        // By `max` and not by the limit, which may be less. In a mode that rejects nobody no queue is full.
        let is_full = word.is_full(self.max_now()) && self.unclaimed() == 0;
        is_full.then(|| self.reject_as_full(word, self.queue()))
    }

    /// Room now, or none: never waits, and never overtakes those that do.
    ///
    /// # Errors
    /// When there is no room for a newcomer, or the gate is closed; that is counted.
    #[inline]
    pub(crate) fn try_enter(&self) -> Result<Flight<'_>, Rejection> {
        self.enter_at_once()
            .map_or_else(|| self.try_enter_slowly(), Ok)
    }

    #[cold]
    fn try_enter_slowly(&self) -> Result<Flight<'_>, Rejection> {
        if let Some(rejection) = self.reject_at_once() {
            return Err(rejection);
        }
        let now = (self.unclaimed() > 0).then(time::now);
        self.decide_in_turn(now, |ledger, word| {
            match self.look_for_room(ledger, word, Newcomer::NEVER_WAITS) {
                Look::Admitted(flight) => Some(Ok(flight)),
                Look::Closed(load) => Some(Err(Rejection::Closed(load))),
                Look::NoRoom => Some(Err(self.reject_as_full(word, ledger.waitlist.waiting()))),
                Look::Changed => None,
            }
        })
    }

    /// Room now, a place at the tail of the queue, or neither.
    pub(in crate::admission) fn join(
        &self,
        waker: &Waker,
        now: Instant,
        until: Instant,
        bound: Bound,
    ) -> Settled<'_> {
        let newcomer = Newcomer {
            may_wait: true,
            is_spent: bound == Bound::Deadline && until <= now,
        };
        let mut waker = Some(waker.clone());
        let settled = self.decide_in_turn(Some(now), |ledger, word| {
            match self.look_for_room(ledger, word, newcomer) {
                Look::Admitted(flight) => Some(Settled::AtOnce(Ok(flight))),
                Look::Closed(load) => Some(Settled::AtOnce(Err(Rejection::Closed(load)))),
                Look::Changed => None,
                Look::NoRoom => {
                    let (waiting, queue) = (ledger.waitlist.waiting(), ledger.terms.queue);
                    // In a mode that rejects nobody, there is no room only where the word cannot count
                    // any more.
                    if waiting >= queue || ledger.terms.mode != Mode::Enforce {
                        return Some(Settled::AtOnce(Err(self.reject_as_full(word, waiting))));
                    }
                    let joined = word.with_waiting(waiting + 1, queue);
                    self.exchange(word, joined).ok()?;
                    ledger.highest_waiting = ledger.highest_waiting.max(waiting + 1);
                    let waker = waker.take().expect("it joins once");
                    let slot = ledger.waitlist.join(waker, until, bound);
                    let watch = ledger.waitlist.watch(slot);
                    Some(Settled::Queued { slot, watch })
                }
            }
        });
        drop_harmlessly(waker);
        settled
    }

    /// Decides under the lock, after everything that others are entitled to was handed over: what is
    /// overdue at `now` is taken back, and what is free goes to those that wait. Again, until `decide`
    /// has decided.
    fn decide_in_turn<T>(
        &self,
        now: Option<Instant>,
        mut decide: impl FnMut(&mut Ledger, Word) -> Option<T>,
    ) -> T {
        loop {
            let mut ledger = self.ledger.lock();
            if let Some(now) = now {
                self.revoke_overdue(&mut ledger, now);
            }
            if let Some((waker, _)) = self.grant(&mut ledger, Room::Free) {
                drop(ledger);
                wake(waker);
            } else if let Some(decided) = decide(&mut ledger, self.word()) {
                let turn = self.mark(&mut ledger);
                drop(ledger);
                turn.tell();
                return decided;
            }
        }
    }

    /// A call that is observed and let in is counted here, once, whether its deadline had passed, there was no
    /// room, or both.
    fn look_for_room(&self, ledger: &mut Ledger, word: Word, newcomer: Newcomer) -> Look<'_> {
        let has_room = word.has_room(ledger.terms.permits());
        let is_observed = ledger.terms.mode == Mode::Observe;
        if word.is_closed() {
            ledger.closed += 1;
            Look::Closed(self.load_at(word, ledger.waitlist.waiting()))
        } else if has_room && ledger.waitlist.waiting() > 0 {
            Look::Changed
        } else if has_room || is_observed && word.has_room(CEILING) {
            let look = self.admit(word);
            if is_observed && matches!(look, Look::Admitted(_)) {
                if newcomer.has_no_place(word, ledger.terms) {
                    ledger.would_reject += 1;
                } else if !has_room {
                    ledger.would_wait += 1;
                }
            }
            look
        } else {
            Look::NoRoom
        }
    }

    fn admit(&self, word: Word) -> Look<'_> {
        let admitted = word.admitted();
        if self.exchange(word, admitted).is_ok() {
            self.entrance.highest.raise(admitted.in_flight());
            Look::Admitted(Flight::begin(self, word.times_next()))
        } else {
            Look::Changed
        }
    }

    fn reject_as_full(&self, word: Word, waiting: u32) -> Rejection {
        self.counts.rejected_full();
        Rejection::Full(self.load_at(word, waiting))
    }
}
