//! What the expansion of the macros names. Not part of the public interface.

use std::time::Duration;

pub use inventory;

pub use crate::call::{
    Again, Answer, Ask, Contract, Guards, Once, Returned, ReturnedWhole, Settles, Stays,
    Unanswered, UnansweredWhole, again, guard, guard_timed, guard_whole, guard_whole_or, instead,
    once, receive_again,
};
use crate::dependency::Dependency;
pub use crate::dependency::{DeclaredDependency, DependencyRegistration};
pub use crate::function::{BreakerRegistration, Function};
use crate::partition::Partition;
pub use crate::partition::{Declared, State};
use crate::policy::{DEFAULT_SHED, Measured, Policy, Rate};
pub use crate::policy::{Settings, check};
pub use crate::registry::Registration;
pub use crate::retry::RetryPolicy;

/// A policy whose values are checked one by one elsewhere.
#[must_use]
pub const fn policy(settings: Settings) -> Policy {
    Policy::unchecked(settings)
}

/// What was measured, its values checked one by one elsewhere: calls in a thousand seconds, and the
/// share that may be rejected in parts of a million, if it is said.
#[must_use]
pub const fn measured(in_a_thousand_seconds: u64, mean: Duration, shed: Option<u32>) -> Measured {
    let shed = match shed {
        Some(shed) => shed,
        None => DEFAULT_SHED,
    };
    Measured::unchecked(
        Rate::in_a_thousand_seconds(in_a_thousand_seconds),
        mean,
        shed,
    )
}

/// A `rate` that is an expression is a number of calls a second.
#[must_use]
pub const fn in_a_thousand_seconds(calls_a_second: u32) -> u64 {
    calls_a_second as u64 * 1_000
}

/// Whether calls of a partition that was declared elsewhere are under a breaker.
#[must_use]
pub const fn has_breaker(partition: &Partition) -> bool {
    partition.policy().breaker().is_some()
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
