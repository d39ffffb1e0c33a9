//! The usual call under a contract: it finds room, its breakers are calm, and it ends in its first poll.
//!
//! It takes no lock, and asks no clock beyond the sample of the gate; what the other cases have to remember is
//! written down only when they come.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use super::{Run, Running, Stage, Terms, Unwinds, poll_body, reject};
use crate::admission::Rejection;
use crate::breaker::Breaker;
use crate::call::attempt::Attempt;
use crate::call::side::{Breakers, Side, Watched};
use crate::error::BulkheadError;
use crate::frame::{self, Ended, Setter};
use crate::function::Function;
use crate::mode::Mode;
use crate::observer::Traced;
use crate::outcome::{Outcome, Verdict};
use crate::time::{self, Instant};

/// What became of a call in its first poll.
pub(in crate::call) enum Calm<R> {
    /// It is not the usual call: the long way takes it up where it stands, at the door or with its permit.
    Not,
    /// It has ended.
    Ended(R),
    /// Its body runs and is not ready. With its deadline, if it has one of its own.
    Parked(Option<(Instant, Setter)>),
    /// A breaker has opened just now.
    Rejected(BulkheadError),
}

impl<F: Future> Run<F, Watched> {
    /// The first poll, if it can be had without a clock. `left` is what the call allows itself, where no deadline
    /// holds.
    #[inline]
    pub(in crate::call) fn poll_calmly(
        self: Pin<&mut Self>,
        terms: &Terms,
        left: Option<Duration>,
        verdict: impl FnOnce(&F::Output) -> Verdict,
        cx: &mut Context<'_>,
    ) -> Calm<F::Output> {
        let breakers = terms.breakers();
        let gate = &terms.live.gate;
        let is_left_enough = left.is_none_or(|left| left > gate.expected());
        if !are_calm(breakers) || !is_left_enough || gate.mode_now() != Mode::Enforce {
            return Calm::Not;
        }
        let Some(flight) = gate.enter_at_once() else {
            return Calm::Not;
        };
        let mut this = self.project();
        // With the permit in hand, as every ticket is taken.
        let Some(tickets) = Tickets::take(breakers) else {
            *this.stage = Stage::Over;
            let entered = enter_late(this.side, terms, left);
            match entered {
                Ok(traced) => {
                    *this.stage = Stage::Running(Running {
                        traced,
                        flight: Some(flight),
                        began: this.side.began(),
                        waited: None,
                    });
                    return Calm::Not;
                }
                Err(retry_after) => {
                    let mut flight = flight;
                    flight.means(Outcome::Unstarted);
                    this.body.set(None);
                    drop(flight);
                    let rejection = Rejection::Open(retry_after);
                    return Calm::Rejected(reject(
                        terms.live,
                        terms.origin,
                        Attempt::ONLY,
                        rejection,
                    ));
                }
            }
        };
        // Unless it parks: polled again after a panic, it has ended.
        *this.stage = Stage::Over;
        let mut watching = Watching {
            tickets,
            side: this.side,
            before: Ended::listen(),
        };
        let allowed = left.map(frame::allow);
        let held = terms.held().map(|held| frame::hold(held, None));
        let in_flight = (
            flight,
            Traced::begin(terms.origin, None, Attempt::ONLY.number()),
        );
        let end = |output, verdict, flight, _: &mut Watching<'_>| (output, verdict, flight);
        let body = this.body.as_mut();
        let polled = poll_body(body, in_flight, &mut watching, verdict, end, cx);
        let alive = match held {
            Some(held) => held.end(),
            None => None,
        };
        let asked = match allowed {
            Some(allowed) => allowed.end(),
            None => None,
        };
        watching.note();
        match polled {
            Ok((output, verdict, mut flight)) => {
                if verdict != Verdict::Success || !watching.tickets.succeed() {
                    watching.tell(verdict.into());
                }
                flight.means(verdict.into());
                Calm::Ended(output)
            }
            Err((flight, traced)) => {
                watching.park();
                *this.stage = Stage::Running(Running {
                    traced,
                    flight: Some(flight),
                    began: None,
                    waited: None,
                });
                *this.alive = alive;
                let by =
                    |left| asked.unwrap_or_else(|| (time::after(time::now(), left), Setter::new()));
                Calm::Parked(left.map(by))
            }
        }
    }
}

#[inline]
fn are_calm(breakers: Breakers) -> bool {
    let [operation, partition] = breakers;
    (operation.is_some() || partition.is_some())
        && operation.is_none_or(Breaker::is_calm)
        && partition.is_none_or(Breaker::is_calm)
}

/// A breaker was closed before the permit was taken, and is not any more: the call is watched like any other.
#[cold]
#[inline(never)]
fn enter_late(
    side: &mut Watched,
    terms: &Terms,
    left: Option<Duration>,
) -> Result<Traced, Option<Duration>> {
    side.bounds(terms.origin.function.and_then(Function::longest), None);
    side.board(terms.breakers(), None, Some(time::now()))?;
    let _allowed = left.map(frame::allow);
    Ok(Traced::begin(terms.origin, None, Attempt::ONLY.number()))
}

/// Calls that began in the eras that are closed.
#[derive(Clone, Copy)]
struct Tickets([Option<(&'static Breaker, u64)>; 2]);

impl Tickets {
    #[inline]
    fn take([operation, partition]: Breakers) -> Option<Self> {
        let ticket = |breaker: Option<&'static Breaker>| match breaker {
            None => Some(None),
            Some(breaker) => breaker.closed_era().map(|era| Some((breaker, era))),
        };
        Some(Self([ticket(operation)?, ticket(partition)?]))
    }

    /// Counts a success with each; those that have to be told keep their ticket.
    #[inline]
    fn succeed(&mut self) -> bool {
        let mut all = true;
        for place in &mut self.0 {
            if let Some((breaker, era)) = *place {
                if breaker.succeed(era) {
                    *place = None;
                } else {
                    all = false;
                }
            }
        }
        all
    }
}

/// The breakers of a body that is polled; if it unwinds, the call has panicked.
struct Watching<'s> {
    tickets: Tickets,
    side: &'s mut Watched,
    before: Ended,
}

impl Watching<'_> {
    /// What has ended inside; once, when the poll is over.
    #[inline]
    fn note(&mut self) {
        self.side.note_inside(self.before);
    }

    /// From here on the side remembers.
    #[cold]
    #[inline(never)]
    fn park(&mut self) {
        self.side.watch(self.tickets.0);
    }

    #[cold]
    #[inline(never)]
    fn tell(&mut self, outcome: Outcome) {
        self.park();
        self.side.end(outcome);
    }
}

impl Unwinds for Watching<'_> {
    #[cold]
    fn unwound(&mut self) {
        self.note();
        self.tell(Outcome::Panicked);
    }
}
