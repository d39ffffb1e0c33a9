//! Who is told. Always last, outside every lock; whatever a listener does, it changes no result and
//! no count.

#[cfg(feature = "tracing")]
mod events;

use crate::error::BulkheadError;
#[cfg(feature = "tracing")]
use crate::foreign::harmless;
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

/// Two declarations of one identity disagree.
#[cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "nobody listens")
)]
pub(crate) fn conflict(conflict: &Conflict) {
    #[cfg(feature = "tracing")]
    harmless(|| events::conflict(conflict));
}
