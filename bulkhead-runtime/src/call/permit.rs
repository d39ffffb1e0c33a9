//! Permits held by hand.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use std::thread;
use std::time::Duration;

use pin_project_lite::pin_project;

use super::attempt::Attempt;
use super::entering;
use super::run::{Terms, reject};
use super::side::Boxed;
use crate::admission::{Entry, Flight, Rejection, Waited};
use crate::error::BulkheadError;
use crate::frame;
use crate::observer;
use crate::outcome::{Outcome, Verdict};
use crate::partition::{Live, Partition};
use crate::time::{Instant, Timer};

/// The right to run one body; held by hand.
///
/// It is given back when it is dropped, and the call then counts as a success; as panicked, if a
/// panic that began while it was held is what drops it. [`finish`](Self::finish) says otherwise.
///
/// `let _ = partition.try_enter()?` gives it back at once: bind it to a name.
#[derive(Debug)]
#[must_use = "dropping a permit gives it back at once; bind it to a name for as long as the work takes"]
pub struct Permit<'p> {
    by_hand: ByHand,
    /// A drop while an older panic unwinds is not this call's panic.
    panicking: bool,
    verdict: Verdict,
    partition: PhantomData<&'p Partition>,
}

impl Permit<'_> {
    #[inline]
    pub(crate) fn try_take(partition: &Partition) -> Result<Self, BulkheadError> {
        let live = partition.live();
        let entered = if frame::is_due() || live.breaker().is_some() {
            try_enter_under(live)
        } else {
            let at_once = live.gate.enter_at_once();
            let entered = at_once.map_or_else(|| try_enter_slowly(live), Ok);
            entered.map(ByHand::unwatched)
        };
        match entered {
            Ok(by_hand) => Ok(Self::new(by_hand)),
            Err(rejection) => Err(reject(
                live,
                Terms::of(live, None).origin,
                Attempt::ONLY,
                rejection,
            )),
        }
    }

    #[inline]
    fn new(by_hand: ByHand) -> Self {
        let panicking = thread::panicking();
        Self {
            by_hand,
            panicking,
            verdict: Verdict::Success,
            partition: PhantomData,
        }
    }

    /// Gives the permit back, and says what the call was.
    pub fn finish(mut self, verdict: Verdict) {
        self.verdict = verdict;
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        let panicked = thread::panicking() && !self.panicking;
        let outcome = if panicked {
            Outcome::Panicked
        } else {
            self.verdict.into()
        };
        self.by_hand.means(outcome);
    }
}

/// A permit, and the breakers that wait for its end.
#[derive(Debug)]
pub(super) struct ByHand {
    /// Before the flight: a breaker hears of a call before its permit is free.
    watched: Boxed,
    flight: Flight<'static>,
}

impl ByHand {
    #[inline]
    fn unwatched(flight: Flight<'static>) -> Self {
        Self {
            watched: None,
            flight,
        }
    }

    pub(super) fn means(&mut self, outcome: Outcome) {
        if let Some(watched) = &mut self.watched {
            watched.means(outcome);
        }
        self.flight.means(outcome);
    }
}

#[cold]
fn try_enter_slowly(live: &'static Live) -> Result<Flight<'static>, Rejection> {
    let flight = live.gate.try_enter_slowly(frame::standing)?;
    observer::admitted(live, Terms::of(live, None).origin, Duration::ZERO);
    Ok(flight)
}

/// Under a deadline or a breaker: the way in of every call, which is over in one poll if it never queues.
#[cold]
fn try_enter_under(live: &'static Live) -> Result<ByHand, Rejection> {
    let (mut entry, mut watched) = (Entry::default(), Boxed::None);
    let terms = Terms::of(live, None);
    let timer = pin!(Timer::default());
    let mut cx = Context::from_waker(Waker::noop());
    match entering::poll(
        &mut entry,
        &mut watched,
        &terms,
        None,
        false,
        timer,
        &mut cx,
    ) {
        Poll::Ready(entered) => entered.map(|passage| ByHand {
            watched,
            flight: passage.flight,
        }),
        Poll::Pending => unreachable!("it never queues"),
    }
}

pin_project! {
    /// Waits for a permit; made by [`Partition::enter`] and [`Partition::enter_by`], which have its errors,
    /// panics and cancel safety.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Enter<'p> {
        #[pin]
        timer: Timer,
        entry: Entry<'static>,
        watched: Boxed,
        live: &'static Live,
        until: Option<Instant>,
        partition: PhantomData<&'p Partition>,
    }
}

impl Enter<'_> {
    #[inline]
    pub(crate) fn new(partition: &Partition, until: Option<Instant>) -> Self {
        Self {
            timer: Timer::default(),
            entry: Entry::default(),
            watched: None,
            live: partition.live(),
            until,
            partition: PhantomData,
        }
    }

    /// The same for work that says by itself how it ends; and how long it waited, if it did.
    #[inline]
    pub(super) fn poll_by_hand(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(ByHand, Option<Waited>), BulkheadError>> {
        let this = self.project();
        let terms = Terms::of(this.live, None);
        let entered = ready!(entering::poll(
            this.entry,
            this.watched,
            &terms,
            *this.until,
            true,
            this.timer,
            cx
        ));
        Poll::Ready(match entered {
            Ok(passage) => {
                let by_hand = ByHand {
                    watched: this.watched.take(),
                    flight: passage.flight,
                };
                Ok((by_hand, passage.waited))
            }
            Err(rejection) => Err(reject(this.live, terms.origin, Attempt::ONLY, rejection)),
        })
    }
}

impl<'p> Future for Enter<'p> {
    type Output = Result<Permit<'p>, BulkheadError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_by_hand(cx)
            .map_ok(|(by_hand, _)| Permit::new(by_hand))
    }
}
