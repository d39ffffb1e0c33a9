//! The way in of a call that breakers may watch: the look before the queue, and the probe after the permit.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::run::Terms;
use super::side::{self, Side};
use crate::admission::{Entry, Obstacle, Passage, Patience, Queues, Rejection};
use crate::breaker::Look;
use crate::mode::Mode;
use crate::outcome::Outcome;
use crate::time::{self, Timer};

/// One poll of the way in.
#[inline]
pub(super) fn poll<S: Side>(
    entry: &mut Entry<'static>,
    side: &mut S,
    terms: &Terms,
    patience: Patience,
    may_queue: bool,
    timer: Pin<&mut Timer>,
    cx: &mut Context<'_>,
) -> Poll<Result<Passage<'static>, Rejection>> {
    let gate = &terms.live.gate;
    if !S::WATCHES || !terms.is_watched() {
        return entry.poll(gate, patience, || terms.queues(may_queue), timer, cx);
    }
    poll_watched(entry, side, terms, patience, may_queue, timer, cx)
}

#[inline(never)]
fn poll_watched<S: Side>(
    entry: &mut Entry<'static>,
    side: &mut S,
    terms: &Terms,
    patience: Patience,
    may_queue: bool,
    timer: Pin<&mut Timer>,
    cx: &mut Context<'_>,
) -> Poll<Result<Passage<'static>, Rejection>> {
    let gate = &terms.live.gate;
    let comes = entry.is_fresh();
    if comes && gate.mode_now() != Mode::Enforce {
        return poll_observed(entry, side, terms, patience, timer, cx);
    }
    // A call whose time is up is rejected for that.
    let look = if comes && !is_spent(terms, patience) {
        side::look(terms.breakers())
    } else {
        Look::Pass
    };
    let polled = match look {
        Look::Open(rejected) => {
            *entry = Entry::Done;
            return Poll::Ready(Err(gate.reject_open(rejected.retry_after)));
        }
        Look::HalfOpen => entry.poll(gate, patience, || Queues::Never, timer, cx),
        Look::Pass => entry.poll(gate, patience, || terms.queues(may_queue), timer, cx),
    };
    match polled {
        Poll::Ready(Ok(passage)) => Poll::Ready(board(side, terms, passage)),
        // Those that wait when a breaker opens are not told until when.
        Poll::Ready(Err(Rejection::Open(None))) => {
            Poll::Ready(Err(Rejection::Open(next_probe(terms))))
        }
        Poll::Ready(Err(rejection)) => Poll::Ready(Err(rejection)),
        // It may have opened between the look and the queue, when nobody was there to be turned away.
        Poll::Pending if comes && matches!(side::look(terms.breakers()), Look::Open(_)) => {
            match entry.turn_away() {
                Some(Rejection::Open(_)) => Poll::Ready(Err(Rejection::Open(next_probe(terms)))),
                Some(rejection) => Poll::Ready(Err(rejection)),
                None => Poll::Pending,
            }
        }
        Poll::Pending => Poll::Pending,
    }
}

/// The probe is taken now, with the permit in hand, and never while queueing.
fn board<S: Side>(
    side: &mut S,
    terms: &Terms,
    mut passage: Passage<'static>,
) -> Result<Passage<'static>, Rejection> {
    let began = passage.waited.map_or_else(time::now, |waited| waited.until);
    match side.board(terms, began) {
        Ok(()) => Ok(passage),
        Err(retry_after) => {
            passage.flight.means(Outcome::Unstarted);
            Err(Rejection::Open(retry_after))
        }
    }
}

/// Where nobody is rejected nobody waits, and a call that a breaker has no place for is let in and counted.
#[cold]
fn poll_observed<S: Side>(
    entry: &mut Entry<'static>,
    side: &mut S,
    terms: &Terms,
    patience: Patience,
    timer: Pin<&mut Timer>,
    cx: &mut Context<'_>,
) -> Poll<Result<Passage<'static>, Rejection>> {
    let gate = &terms.live.gate;
    let began = time::now();
    let boarded = match gate.mode_now() {
        Mode::Off => Ok(()),
        Mode::Enforce | Mode::Observe => side.board(terms, began),
    };
    let polled = match boarded {
        Ok(()) => entry.poll(gate, patience, || Queues::Never, timer, cx),
        Err(retry_after) => {
            *entry = Entry::Done;
            let entered = gate.enter_despite(Obstacle::Open(retry_after));
            Poll::Ready(entered.map(Passage::at_once))
        }
    };
    if let Poll::Ready(Err(_)) = polled {
        side.end(Outcome::Unstarted);
    }
    polled
}

fn is_spent(terms: &Terms, patience: Patience) -> bool {
    let end = patience.deadline.map(|by| terms.live.gate.latest_start(by));
    let end = end.into_iter().chain(patience.until).min();
    end.is_some_and(|end| end <= time::now())
}

fn next_probe(terms: &Terms) -> Option<Duration> {
    match side::look(terms.breakers()) {
        Look::Open(rejected) => rejected.retry_after,
        Look::Pass | Look::HalfOpen => Some(Duration::ZERO),
    }
}

impl Terms {
    /// Whoever is called inside a call of the same partition would wait for the call that waits for it.
    fn queues(&self, may_queue: bool) -> Queues {
        if !may_queue || self.live.holder().is_some() {
            return Queues::Never;
        }
        let [operation, _] = self.breakers();
        Queues::As(
            operation
                .and_then(|breaker| breaker.mark())
                .unwrap_or_default(),
        )
    }
}
