//! The gate as newcomers see it: in at once, into the queue, or out.

use std::task::Waker;
use std::time::Duration;

use super::{Gate, Ledger, Room, wake};
use crate::admission::counts::Load;
use crate::admission::flight::Flight;
use crate::admission::rejection::Rejection;
use crate::admission::terms::Terms;
use crate::admission::waitlist::{Bound, Operation, SlotIndex, Standing};
use crate::admission::word::{CEILING, Word};
use crate::foreign::drop_harmlessly;
use crate::mode::Mode;
use crate::time::{self, Instant};

/// What became of a newcomer that would wait.
pub(in crate::admission) enum Arrived<'g> {
    Queued {
        slot: SlotIndex,
        /// When to look whether somebody before it is out of time.
        watch: Option<Instant>,
    },
    AtOnce(Result<Flight<'g>, Rejection>),
}

/// What keeps a call from a permit, other than that there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Obstacle {
    /// It cannot be done by its deadline any more.
    Spent,
    /// A breaker is open; the time until its next probe, if that is known.
    Open(Option<Duration>),
}

/// What a newcomer is ready to do, as far as it matters to whoever observes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newcomer {
    NeverWaits,
    MayWait,
}

impl Newcomer {
    /// Whether it would have been rejected: there is neither a permit for it nor a place in the queue, had those
    /// before it waited there.
    fn has_no_place(self, word: Word, terms: Terms) -> bool {
        let places = match self {
            Self::NeverWaits => 0,
            Self::MayWait => terms.queue,
        };
        !word.has_room(terms.max + places)
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

    /// As a call from outside that never waits.
    #[cfg(test)]
    pub(crate) fn try_enter(&self) -> Result<Flight<'_>, Rejection> {
        self.enter_at_once()
            .map_or_else(|| self.try_enter_slowly(|| Standing::Outside), Ok)
    }

    /// Room now, or none: never waits, and never overtakes those that do. For where it is not the usual case. The
    /// usual rejection does not ask for the `standing`.
    ///
    /// # Errors
    /// When there is no room for a newcomer, or the gate is closed for it; that is counted.
    #[cold]
    pub(crate) fn try_enter_slowly(
        &self,
        standing: fn() -> Standing,
    ) -> Result<Flight<'_>, Rejection> {
        match self.reject_at_once() {
            Some(rejection) => Err(rejection),
            None => self.try_enter_in_turn(standing()),
        }
    }

    /// Out of line: the usual rejection shall not make space for it.
    #[inline(never)]
    fn try_enter_in_turn(&self, standing: Standing) -> Result<Flight<'_>, Rejection> {
        let now = (self.unclaimed() > 0).then(time::now);
        self.decide_in_turn(now, |ledger, word| {
            match self.look_for_room(ledger, word, Newcomer::NeverWaits, standing) {
                Look::Admitted(flight) => Some(Ok(flight)),
                Look::Closed(load) => Some(Err(Rejection::Closed(load))),
                Look::NoRoom => Some(Err(self.reject_as_full(word, ledger.waitlist.waiting()))),
                Look::Changed => None,
            }
        })
    }

    /// The same for a call that has to be done by `deadline`.
    ///
    /// # Errors
    /// As there, and when it could not be done by then any more.
    #[cold]
    pub(crate) fn try_enter_by(
        &self,
        deadline: Instant,
        standing: fn() -> Standing,
    ) -> Result<Flight<'_>, Rejection> {
        if self.latest_start(deadline) <= time::now() {
            self.enter_despite(Obstacle::Spent, standing())
        } else {
            self.enter_at_once()
                .map_or_else(|| self.try_enter_slowly(standing), Ok)
        }
    }

    /// A call that has something else against it than a lack of room: it is rejected, or, in a mode that rejects
    /// nobody, let in and counted once, whether there was room or not.
    ///
    /// # Errors
    /// For the obstacle; or when the gate is closed for it, or cannot count any more.
    #[cold]
    pub(crate) fn enter_despite(
        &self,
        obstacle: Obstacle,
        standing: Standing,
    ) -> Result<Flight<'_>, Rejection> {
        let mut ledger = self.ledger.lock();
        if ledger.terms.mode == Mode::Enforce {
            return Err(self.reject_for(obstacle, &mut ledger, self.word()));
        }
        drop(ledger);
        self.decide_in_turn(Some(time::now()), |ledger, word| {
            if ledger.terms.mode == Mode::Enforce {
                return Some(Err(self.reject_for(obstacle, ledger, word)));
            }
            let waiting = ledger.waitlist.waiting();
            if ledger.turns_away(standing) {
                ledger.closed += 1;
                return Some(Err(Rejection::Closed(self.load_at(word, waiting))));
            }
            if !word.has_room(CEILING) {
                return Some(Err(self.reject_as_full(word, waiting)));
            }
            let Look::Admitted(flight) = self.admit(word) else {
                return None;
            };
            if ledger.terms.mode == Mode::Observe {
                ledger.would_reject += 1;
            }
            Some(Ok(flight))
        })
    }

    /// Whether a call that has its permit, and that a breaker has no place for, may go on all the same; counted, if
    /// it is observed.
    #[cold]
    pub(crate) fn lets_pass(&self) -> bool {
        let mut ledger = self.ledger.lock();
        if ledger.terms.mode == Mode::Observe {
            ledger.would_reject += 1;
        }
        ledger.terms.mode != Mode::Enforce
    }

    fn reject_for(&self, obstacle: Obstacle, ledger: &mut Ledger, word: Word) -> Rejection {
        match obstacle {
            Obstacle::Spent => {
                ledger.deadline += 1;
                Rejection::spent(self.load_at(word, ledger.waitlist.waiting()))
            }
            Obstacle::Open(retry_after) => self.reject_open(retry_after),
        }
    }

    /// Room now, a place at the tail of the queue, or neither.
    pub(in crate::admission) fn join(
        &self,
        waker: &Waker,
        now: Instant,
        until: Instant,
        bound: Bound,
        operation: Operation,
        standing: Standing,
    ) -> Arrived<'_> {
        let mut waker = Some(waker.clone());
        let arrived = self.decide_in_turn(Some(now), |ledger, word| {
            match self.look_for_room(ledger, word, Newcomer::MayWait, standing) {
                Look::Admitted(flight) => Some(Arrived::AtOnce(Ok(flight))),
                Look::Closed(load) => Some(Arrived::AtOnce(Err(Rejection::Closed(load)))),
                Look::Changed => None,
                Look::NoRoom => {
                    let (waiting, queue) = (ledger.waitlist.waiting(), ledger.terms.queue);
                    // In a mode that rejects nobody, there is no room only where the word cannot count
                    // any more.
                    if waiting >= queue || ledger.terms.mode != Mode::Enforce {
                        return Some(Arrived::AtOnce(Err(self.reject_as_full(word, waiting))));
                    }
                    let joined = word.with_waiting(waiting + 1, queue);
                    self.exchange(word, joined).ok()?;
                    ledger.highest_waiting = ledger.highest_waiting.max(waiting + 1);
                    let waker = waker.take().expect("it joins once");
                    let slot = ledger
                        .waitlist
                        .join(waker, until, bound, operation, standing);
                    let watch = ledger.waitlist.watch(slot);
                    Some(Arrived::Queued { slot, watch })
                }
            }
        });
        drop_harmlessly(waker);
        arrived
    }

    /// Decides under the lock, after everything that others are entitled to was handed over: what is
    /// overdue at `now` is taken back, and what is free goes to those that wait. Again, until `decide`
    /// has decided.
    fn decide_in_turn<T>(
        &self,
        now: Option<Instant>,
        mut decide: impl FnMut(&mut Ledger, Word) -> Option<T>,
    ) -> T {
        let mut has_revoked = false;
        let decided = loop {
            let mut ledger = self.ledger.lock();
            if let Some(now) = now {
                has_revoked |= self.revoke_overdue(&mut ledger, now);
            }
            if let Some((waker, _)) = self.grant(&mut ledger, Room::Free) {
                drop(ledger);
                wake(waker);
            } else if let Some(decided) = decide(&mut ledger, self.word()) {
                let notice = self.mark(&mut ledger);
                drop(ledger);
                notice.tell();
                break decided;
            }
        };
        if has_revoked {
            // It may have been the last in a closed gate.
            self.hand_over();
        }
        decided
    }

    /// A call that is observed and let in without room is counted here, once.
    fn look_for_room(
        &self,
        ledger: &mut Ledger,
        word: Word,
        newcomer: Newcomer,
        standing: Standing,
    ) -> Look<'_> {
        let has_room = word.has_room(ledger.terms.permits());
        let is_observed = ledger.terms.mode == Mode::Observe;
        if ledger.turns_away(standing) {
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
