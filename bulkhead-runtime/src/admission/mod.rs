//! Admit, enqueue or reject: one decision; and the way back of every permit.
//!
//! [`word`] holds the layout of the one atomic word and decides on it, [`waitlist`] holds the order
//! of those that wait; both are pure. [`gate`] joins them: it is the only place that changes either. [`counts`]
//! holds what passed, [`terms`] what it goes by, and [`rejection`] why a call got no permit.
//!
//! [`entry`] is the way in, poll by poll; [`waiter`] and [`flight`] are what a call owns: a place in the
//! queue, and a permit. Dropping one of them gives it back, so that no path out of a call can forget to.

mod counts;
mod entry;
mod flight;
mod gate;
#[cfg(all(test, bulkhead_loom))]
mod model;
mod rejection;
mod terms;
mod waiter;
mod waitlist;
mod word;

pub(crate) use counts::{Load, Tally};
pub(crate) use entry::{Entry, Passage, Patience, Queues, Waited};
pub(crate) use flight::Flight;
pub(crate) use gate::{Gate, Obstacle, Saturation, Watcher};
pub(crate) use rejection::Rejection;
pub(crate) use terms::{Terms, Watch};
pub(crate) use waitlist::{Bound, Operation, Standing};
