//! An annotated function, as it was declared.

use std::time::Duration;

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
}

impl Function {
    #[must_use]
    pub const fn new(partition: &'static Partition, path: &'static str) -> Self {
        Self {
            partition,
            state: partition.state(),
            path,
            timeout: None,
        }
    }

    #[must_use]
    pub const fn with_timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
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
