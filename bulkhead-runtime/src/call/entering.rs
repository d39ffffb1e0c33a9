//! The way in of every call but the plainest: the look at the breakers before the queue, and the probe after the
//! permit.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::run::Terms;
use super::side::{self, Breakers, Side};
use crate::admission::{Entry, Gate, Obstacle, Passage, Patience, Queues, Rejection, Waited};
use crate::breaker::{Breaker, Look};
use crate::frame;
use crate::mode::Mode;
use crate::observer;
use crate::outcome::Outcome;
use crate::time::{self, Instant, Timer};

/// One poll of the way in. It queues only if it `may_queue`; `until` takes the place of `wait`.
#[inline]
pub(super) fn poll<S: Side>(
    entry: &mut Entry<'static>,
    side: &mut S,
    terms: &Terms,
    until: Option<Instant>,
    may_queue: bool,
    timer: Pin<&mut Timer>,
    cx: &mut Context<'_>,
) -> Poll<Result<Passage<'static>, Rejection>> {
    let breakers = if S::WATCHES {
        terms.breakers()
    } else {
        [None; 2]
    };
    if breakers.iter().all(Option::is_none) {
        let patience = Patience {
            until,
            deadline: frame::deadline(),
        };
        if let Some(passage) = entry.enter_at_once(&terms.live.gate, patience) {
            return Poll::Ready(Ok(passage));
        }
        let way = Way {
            terms,
            breakers,
            patience,
            may_queue,
        };
        return way.poll_told(entry, timer, cx);
    }
    // Here nobody asks for the deadline: a call that finds room, and ends at once, never needs it.
    if S::IS_POLLED
        && until.is_none()
        && entry.is_fresh()
        && may_go_unasked(&terms.live.gate)
        && side::is_calm(breakers)
        && terms.live.gate.mode_now() == Mode::Enforce
        && let Some(flight) = terms.live.gate.enter_at_once()
    {
        *entry = Entry::Done;
        let passage = Passage::at_once(flight);
        // What is bounded by a timeout counts from here.
        let began = terms.timeout.map(|_| time::now());
        let gate = &terms.live.gate;
        return Poll::Ready(board(gate, side, breakers, terms.timeout, began, passage));
    }
    let way = Way {
        terms,
        breakers,
        patience: Patience {
            until,
            deadline: frame::deadline(),
        },
        may_queue,
    };
    way.poll_watched(entry, side, timer, cx)
}

/// Whether no deadline holds, or one that nobody has asked for and that leaves enough for a call.
fn may_go_unasked(gate: &Gate) -> bool {
    match frame::left_unasked() {
        Some(left) => left > gate.expected(),
        None => !frame::is_due(),
    }
}

/// The probe is taken now, with the permit in hand, and never while queueing.
#[inline]
fn board<S: Side>(
    gate: &Gate,
    side: &mut S,
    breakers: Breakers,
    timeout: Option<Duration>,
    began: Option<Instant>,
    mut passage: Passage<'static>,
) -> Result<Passage<'static>, Rejection> {
    if breakers.iter().all(Option::is_none) || gate.mode_now() == Mode::Off {
        return Ok(passage);
    }
    match side.board(breakers, timeout, began) {
        Ok(()) => Ok(passage),
        // The mode may have changed since it came.
        Err(_) if gate.lets_pass() => Ok(passage),
        Err(retry_after) => {
            passage.flight.means(Outcome::Unstarted);
            Err(Rejection::Open(retry_after))
        }
    }
}

/// A call on its way in, and what it goes by.
struct Way<'t> {
    terms: &'t Terms,
    breakers: Breakers,
    patience: Patience,
    may_queue: bool,
}

impl Way<'_> {
    /// For a call that no breaker watches.
    #[inline(never)]
    fn poll_told(
        &self,
        entry: &mut Entry<'static>,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'static>, Rejection>> {
        let polled = self.poll(entry, self.may_queue, timer, cx);
        if let Poll::Ready(Ok(passage)) = &polled {
            self.tell(passage);
        }
        polled
    }

    /// It is in, and no breaker can turn it away any more: that is an admission.
    fn tell(&self, passage: &Passage<'_>) {
        let waited = passage.waited.map_or(Duration::ZERO, Waited::time);
        observer::admitted(self.terms.live, self.terms.origin, waited);
    }

    /// One that would be a probe never queues.
    fn poll(
        &self,
        entry: &mut Entry<'static>,
        may_queue: bool,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'static>, Rejection>> {
        entry.poll(
            &self.terms.live.gate,
            self.patience,
            frame::standing,
            || Self::queues(self.terms, self.breakers[0], may_queue),
            timer,
            cx,
        )
    }

    #[inline(never)]
    fn poll_watched<S: Side>(
        &self,
        entry: &mut Entry<'static>,
        side: &mut S,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'static>, Rejection>> {
        let gate = &self.terms.live.gate;
        let comes = entry.is_fresh();
        if comes && gate.mode_now() != Mode::Enforce {
            return self.poll_observed(entry, side, timer, cx);
        }
        // A call whose time is up is rejected for that.
        let look = if comes && !self.is_spent() {
            side::look(self.breakers)
        } else {
            Look::Pass
        };
        let polled = match look {
            Look::Open(rejected) => {
                *entry = Entry::Done;
                return Poll::Ready(Err(gate.reject_open(rejected.retry_after)));
            }
            Look::HalfOpen => self.poll(entry, false, timer, cx),
            Look::Pass => self.poll(entry, self.may_queue, timer, cx),
        };
        match polled {
            Poll::Ready(Ok(passage)) => Poll::Ready(self.board(side, passage)),
            // Those that wait when a breaker opens are not told until when.
            Poll::Ready(Err(Rejection::Open(None))) => {
                Poll::Ready(Err(Rejection::Open(self.next_probe())))
            }
            Poll::Ready(Err(rejection)) => Poll::Ready(Err(rejection)),
            // It may have opened between the look and the queue, when nobody was there to be turned away.
            Poll::Pending if comes && side::look(self.breakers) != Look::Pass => {
                match entry.turn_away() {
                    Some(Rejection::Open(_)) => {
                        Poll::Ready(Err(Rejection::Open(self.next_probe())))
                    }
                    Some(rejection) => Poll::Ready(Err(rejection)),
                    None => Poll::Pending,
                }
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn board<S: Side>(
        &self,
        side: &mut S,
        passage: Passage<'static>,
    ) -> Result<Passage<'static>, Rejection> {
        let claimed = passage.waited.map(|waited| waited.until);
        let began = claimed.unwrap_or_else(time::now);
        let boarded = board(
            &self.terms.live.gate,
            side,
            self.breakers,
            self.terms.timeout,
            Some(began),
            passage,
        )?;
        self.tell(&boarded);
        Ok(boarded)
    }

    /// Where nobody is rejected nobody waits, and a call that a breaker has no place for is let in and counted.
    #[cold]
    fn poll_observed<S: Side>(
        &self,
        entry: &mut Entry<'static>,
        side: &mut S,
        timer: Pin<&mut Timer>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Passage<'static>, Rejection>> {
        let gate = &self.terms.live.gate;
        let is_off = gate.mode_now() == Mode::Off;
        let is_probed = !is_off && side::look(self.breakers) == Look::HalfOpen;
        let boarded = if is_off {
            Ok(())
        } else {
            side.board(self.breakers, self.terms.timeout, Some(time::now()))
        };
        let polled = match boarded {
            Ok(()) if is_probed => self.poll(entry, false, timer, cx),
            Ok(()) => self.poll(entry, self.may_queue, timer, cx),
            Err(retry_after) => {
                *entry = Entry::Done;
                let entered = gate.enter_despite(Obstacle::Open(retry_after), frame::standing());
                Poll::Ready(entered.map(Passage::at_once))
            }
        };
        match &polled {
            Poll::Ready(Ok(passage)) => self.tell(passage),
            // Pending only if the mode has come to an end: what waits has no ticket.
            Poll::Ready(Err(_)) | Poll::Pending => side.end(Outcome::Unstarted),
        }
        polled
    }

    fn is_spent(&self) -> bool {
        let Patience { until, deadline } = self.patience;
        let latest = deadline.map(|by| self.terms.live.gate.latest_start(by));
        let end = latest.into_iter().chain(until).min();
        end.is_some_and(|end| end <= time::now())
    }

    fn next_probe(&self) -> Option<Duration> {
        match side::look(self.breakers) {
            Look::Open(rejected) => rejected.retry_after,
            Look::Pass | Look::HalfOpen => Some(Duration::ZERO),
        }
    }

    /// Whoever is called inside a call of the same partition would wait for the call that waits for it.
    fn queues(terms: &Terms, operation: Option<&Breaker>, may_queue: bool) -> Queues {
        if !may_queue || terms.live.holder().is_some() {
            return Queues::Never;
        }
        Queues::As(operation.and_then(Breaker::operation).unwrap_or_default())
    }
}
