//! Permits held by hand.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

use super::run::reject;
use crate::admission::{Entry, Flight, Patience};
use crate::error::{BulkheadError, Origin};
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
    flight: Flight<'static>,
    /// A drop while an older panic unwinds is not this call's panic.
    panicking: bool,
    verdict: Verdict,
    partition: PhantomData<&'p Partition>,
}

impl Permit<'_> {
    #[inline]
    pub(crate) fn try_take(partition: &Partition) -> Result<Self, BulkheadError> {
        let live = partition.live();
        match live.gate.try_enter() {
            Ok(flight) => Ok(Self::new(flight)),
            Err(rejection) => Err(reject(live, by_hand(live), rejection)),
        }
    }

    #[inline]
    fn new(flight: Flight<'static>) -> Self {
        let panicking = thread::panicking();
        Self {
            flight,
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
        self.flight.means(if panicked {
            Outcome::Panicked
        } else {
            self.verdict.into()
        });
    }
}

fn by_hand(live: &Live) -> Origin {
    Origin {
        partition: live.partition,
        function: None,
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
        live: &'static Live,
        patience: Patience,
        partition: PhantomData<&'p Partition>,
    }
}

impl Enter<'_> {
    #[inline]
    pub(crate) fn new(partition: &Partition, deadline: Option<Instant>) -> Self {
        Self {
            timer: Timer::default(),
            entry: Entry::default(),
            live: partition.live(),
            patience: deadline.map_or(Patience::Wait, Patience::Until),
            partition: PhantomData,
        }
    }

    /// The same for work that says by itself how it ends.
    #[inline]
    pub(super) fn poll_flight(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Flight<'static>, BulkheadError>> {
        let this = self.project();
        let live = *this.live;
        this.entry
            .poll(&live.gate, *this.patience, this.timer, cx)
            .map(|result| match result {
                Ok(passage) => Ok(passage.flight),
                Err(rejection) => Err(reject(live, by_hand(live), rejection)),
            })
    }
}

impl<'p> Future for Enter<'p> {
    type Output = Result<Permit<'p>, BulkheadError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_flight(cx).map_ok(Permit::new)
    }
}
