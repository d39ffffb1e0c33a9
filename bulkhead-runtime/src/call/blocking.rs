//! Work that cannot be dropped: its permit goes with it.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;

use tokio::task::{JoinError, spawn_blocking};

use super::attempt::Attempt;
use super::permit::ByHand;
use super::run::Terms;
use crate::error::BulkheadError;
use crate::frame::{self, Carried};
use crate::observer::Traced;
use crate::outcome::Outcome;
use crate::partition::Partition;

pub(crate) async fn run_blocking<T: Send + 'static>(
    partition: &Partition,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BulkheadError> {
    let (by_hand, waited) = {
        let mut enter = pin!(partition.enter());
        poll_fn(|cx| enter.as_mut().poll_by_hand(cx)).await?
    };
    let terms = Terms::of(partition.live(), None);
    // Here, where the span that it belongs to is entered: on the thread that works none is.
    let traced = Traced::begin(terms.origin, waited, Attempt::ONLY.number());
    let working = Working {
        work,
        traced,
        by_hand,
        terms,
        frame: Carried::current(),
    };
    let working = spawn_blocking(move || working.run());
    match working.await.map_err(JoinError::try_into_panic) {
        Ok(worth) => Ok(worth),
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => panic!(
            "the runtime shut down before the work of `{}` began",
            partition.name()
        ),
    }
}

/// Work and its permit. Until it runs it can be dropped unrun, when the runtime shuts down: then it is
/// cancelled, and the work is gone before its permit is free.
struct Working<W> {
    work: W,
    traced: Traced,
    by_hand: ByHand,
    terms: Terms,
    frame: Carried,
}

impl<T, W: FnOnce() -> T> Working<W> {
    fn run(self) -> T {
        let Self {
            work,
            mut by_hand,
            terms,
            frame,
            traced,
        } = self;
        by_hand.means(Outcome::Panicked);
        let worth = frame.around(|| {
            let _permit = frame::hold_permit();
            let _held = terms.held().map(|held| frame::hold(held, None));
            traced.around(work)
        });
        traced.close();
        by_hand.means(Outcome::Success);
        worth
    }
}
