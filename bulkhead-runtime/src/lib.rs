//! One slow dependency must not take the whole process with it.
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate self as bulkhead_runtime;

mod admission;
mod call;
mod error;
mod observer;
mod outcome;
mod partition;
mod policy;
mod registry;
mod snapshot;
mod sync;
mod time;
mod web;

pub use bulkhead_macros::{bulkhead, partition};

pub use call::{Call, Enter, Permit, Unclassified};
pub use error::{BulkheadError, BulkheadFull, CallTimeout, DeadlineExceeded, Reason, WaitTimeout};
pub use outcome::{FromBulkheadError, Outcomes, Verdict};
pub use partition::Partition;
pub use policy::{
    MAX_DURATION, MAX_NAME, MAX_PERMITS, MAX_QUEUE, MIN_DURATION, Policy, PolicyError,
};
pub use registry::{
    Existing, RegisterError, VerifyError, partition, partitions, register, snapshots, verify,
};
pub use snapshot::{Rejected, Snapshot};

/// What the expansion of the macros names. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    use std::time::Duration;

    pub use inventory;

    pub use crate::call::{Answer, Ask, Function, guard, guard_timed, once};
    use crate::partition::Partition;
    pub use crate::partition::{Declared, State};
    use crate::policy::Policy;
    pub use crate::policy::check;
    pub use crate::registry::Registration;

    /// A policy whose values are checked one by one elsewhere.
    #[must_use]
    pub const fn policy(max: u32, queue: u32, wait: Duration) -> Policy {
        Policy::unchecked(max, queue, wait)
    }

    /// The handle that a static holds.
    #[must_use]
    pub const fn partition(declared: Declared, state: &'static State) -> Partition {
        Partition::declare(declared, state)
    }
}
