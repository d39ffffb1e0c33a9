//! What the expansion of the macros names. Not part of the public interface.

use std::time::Duration;

pub use inventory;

pub use crate::call::{Answer, Ask, guard, guard_timed, once};
pub use crate::function::Function;
use crate::partition::Partition;
pub use crate::partition::{Declared, State};
use crate::policy::Policy;
pub use crate::policy::check;
pub use crate::registry::Registration;

/// A policy whose values are checked one by one elsewhere.
#[must_use]
pub const fn policy(max: u32, queue: u32, wait: Duration, status: u16) -> Policy {
    Policy::unchecked(max, queue, wait, status)
}

/// The handle that a static holds.
#[must_use]
pub const fn partition(declared: Declared, state: &'static State) -> Partition {
    Partition::declare(declared, state)
}
