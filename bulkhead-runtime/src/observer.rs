//! Who is told. Always last, outside every lock; whatever a listener does, it changes no result and
//! no count.

#[cfg(feature = "tracing")]
mod events;

use crate::breaker::{Breaker, BreakerTransition};
use crate::error::BulkheadError;
#[cfg(feature = "tracing")]
use crate::foreign::harmless;
use crate::function::Function;
use crate::partition::Live;
use crate::registry::Conflict;

#[cfg(feature = "tracing")]
pub(crate) use events::Sampling;

/// A call was rejected.
#[cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "nobody listens")
)]
#[inline]
pub(crate) fn rejected(live: &Live, error: &BulkheadError) {
    #[cfg(feature = "tracing")]
    harmless(|| events::rejected(&live.sampling, live.partition, error));
}

/// A body ran out of time.
#[expect(unused_variables, reason = "nobody listens yet")]
pub(crate) fn timed_out(live: &Live, error: &BulkheadError) {}

/// A breaker has changed its state.
#[expect(unused_variables, reason = "nobody listens yet")]
pub(crate) fn breaker(breaker: &Breaker, moved: &BreakerTransition) {}

/// A function that only shortens the deadline of its caller was called without one.
#[expect(unused_variables, reason = "nobody listens yet")]
pub(crate) fn without_deadline(live: &Live, function: &'static Function) {}

/// Two declarations of one identity disagree.
#[cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "nobody listens")
)]
pub(crate) fn conflict(conflict: &Conflict) {
    #[cfg(feature = "tracing")]
    harmless(|| events::conflict(conflict));
}
