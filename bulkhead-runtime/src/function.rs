//! An annotated function, as it was declared.

use std::time::Duration;

use crate::breaker::BreakerPolicy;
use crate::error::Origin;
use crate::partition::{Live, Partition, State};

/// An annotated function: its partition, its path, and the keys that are its own.
#[doc(hidden)]
#[derive(Debug)]
pub struct Function {
    partition: &'static Partition,
    /// That of the partition: one step less on the way to its gate, in every call.
    state: &'static State,
    path: &'static str,
    timeout: Option<Duration>,
    deadline: Option<Duration>,
    /// `Some` where it is said, with a `deadline` or without.
    margin: Option<Duration>,
    breaker: Option<BreakerPolicy>,
}

/// A function with a breaker of its own, registered at link time, so that its breaker is there before the first
/// call.
#[doc(hidden)]
#[derive(Debug)]
pub struct BreakerRegistration(&'static Function);

impl BreakerRegistration {
    #[must_use]
    pub const fn new(function: &'static Function) -> Self {
        Self(function)
    }
}

inventory::collect!(BreakerRegistration);

impl Function {
    #[must_use]
    pub const fn new(partition: &'static Partition, path: &'static str) -> Self {
        Self {
            partition,
            state: partition.state(),
            path,
            timeout: None,
            deadline: None,
            margin: None,
            breaker: None,
        }
    }

    #[must_use]
    pub const fn with_timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    #[must_use]
    pub const fn with_deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    #[must_use]
    pub const fn with_margin(self, margin: Duration) -> Self {
        Self {
            margin: Some(margin),
            ..self
        }
    }

    #[must_use]
    pub const fn with_breaker(self, breaker: BreakerPolicy) -> Self {
        Self {
            breaker: Some(breaker),
            ..self
        }
    }

    pub(crate) fn path(&self) -> &'static str {
        self.path
    }

    #[inline]
    pub(crate) fn live(&self) -> &'static Live {
        #[cfg(feature = "test-util")]
        if let Some(isolated) = crate::test::isolated(self.partition) {
            return isolated;
        }
        self.state.live().unwrap_or_else(|| self.partition.live())
    }

    #[inline]
    pub(crate) fn origin(&'static self, live: &Live) -> Origin {
        Origin {
            partition: live.partition,
            function: Some(self),
        }
    }

    pub(crate) const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}
