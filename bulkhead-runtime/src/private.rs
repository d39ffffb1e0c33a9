//! What the expansion of the macros names. Not part of the public interface.

use std::time::Duration;

pub use inventory;

pub use crate::call::{Answer, Ask, guard, guard_timed, once};
use crate::dependency::Dependency;
pub use crate::dependency::{DeclaredDependency, DependencyRegistration};
pub use crate::function::Function;
use crate::partition::Partition;
pub use crate::partition::{Declared, State};
use crate::policy::{Measured, Policy, Rate};
pub use crate::policy::{Settings, check};
pub use crate::registry::Registration;

/// A policy whose values are checked one by one elsewhere.
#[must_use]
pub const fn policy(settings: Settings) -> Policy {
    Policy::unchecked(settings)
}

/// What was measured, its values checked one by one elsewhere: calls in a thousand seconds, and the
/// share that may be rejected in parts of a million.
#[must_use]
pub const fn measured(in_a_thousand_seconds: u64, mean: Duration, shed: u32) -> Measured {
    Measured::unchecked(
        Rate::in_a_thousand_seconds(in_a_thousand_seconds),
        mean,
        shed,
    )
}

/// The handle that the static of a dependency holds.
#[must_use]
pub const fn dependency(declared: DeclaredDependency) -> Dependency {
    Dependency::declare(declared)
}

/// The handle that a static holds.
#[must_use]
pub const fn partition(declared: Declared, state: &'static State) -> Partition {
    Partition::declare(declared, state)
}
