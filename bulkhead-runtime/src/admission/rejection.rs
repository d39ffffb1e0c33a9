//! Why a call may not run. Whoever makes one has counted it.

use std::time::Duration;

use super::counts::Load;
use super::waitlist::Bound;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Rejection {
    Full(Load),
    Closed(Load),
    /// A breaker is open; the time until its next probe, if that is known.
    Open(Option<Duration>),
    /// Its patience was over before it was its turn.
    Late {
        bound: Bound,
        waited: Duration,
        load: Load,
    },
}

impl Rejection {
    /// Its deadline had passed before it came.
    pub(super) fn spent(load: Load) -> Self {
        Self::Late {
            bound: Bound::Deadline,
            waited: Duration::ZERO,
            load,
        }
    }
}
