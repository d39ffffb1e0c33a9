//! An annotated function, as it was declared.

use std::time::Duration;

use once_cell::race::OnceRef;

use crate::breaker::{Breaker, BreakerPolicy};
use crate::error::Origin;
use crate::partition::{Live, Partition, State};
use crate::retry::RetryPolicy;
use crate::time::{self, Instant};

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
    left: Option<Duration>,
    breaker: Option<BreakerPolicy>,
    retry: Option<RetryPolicy>,
    /// Where its breaker is declared.
    site: (u32, u32),
    /// The way to its breaker, found once.
    operation: OnceRef<'static, Breaker>,
}

/// Nothing of the user's runs while its breaker is found, so a panic leaves nothing half-done behind it.
impl std::panic::RefUnwindSafe for Function {}

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

/// The functions that have a breaker of their own.
pub(crate) fn operations() -> impl Iterator<Item = &'static Function> {
    inventory::iter::<BreakerRegistration>().map(|registration| registration.0)
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
            left: None,
            breaker: None,
            retry: None,
            site: (0, 0),
            operation: OnceRef::new(),
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
        .with_left()
    }

    #[must_use]
    pub const fn with_margin(self, margin: Duration) -> Self {
        Self {
            margin: Some(margin),
            ..self
        }
        .with_left()
    }

    #[must_use]
    pub const fn with_breaker(self, breaker: BreakerPolicy) -> Self {
        Self {
            breaker: Some(breaker),
            ..self
        }
    }

    #[must_use]
    pub const fn with_retry(self, retry: RetryPolicy) -> Self {
        Self {
            retry: Some(retry),
            ..self
        }
    }

    /// Two functions of one module may have one path: methods of two types.
    #[must_use]
    pub const fn declared_at(self, line: u32, column: u32) -> Self {
        Self {
            site: (line, column),
            ..self
        }
    }

    /// Whether they are one declaration, which some macros copy.
    pub(crate) fn is_same_operation(&self, other: &Self) -> bool {
        (self.path, self.site) == (other.path, other.site)
    }

    /// The breaker of this operation alone.
    #[inline]
    pub(crate) fn breaker(&'static self, live: &'static Live) -> Option<&'static Breaker> {
        self.breaker.as_ref()?;
        #[cfg(feature = "test-util")]
        if crate::test::is_isolated() {
            return self.resolve(live);
        }
        self.operation.get().or_else(|| self.resolve(live))
    }

    #[cold]
    fn resolve(&'static self, live: &'static Live) -> Option<&'static Breaker> {
        let operation = live.operation(self, self.breaker?);
        #[cfg(feature = "test-util")]
        if crate::test::is_isolated() {
            return Some(operation);
        }
        Some(self.operation.get_or_init(|| operation))
    }

    /// How often it is tried, if more than once.
    #[must_use]
    pub const fn retry(&self) -> Option<RetryPolicy> {
        self.retry
    }

    pub(crate) fn partition(&self) -> &'static Partition {
        self.partition
    }

    /// The longest time that its body can run, if that is bounded by itself.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.timeout.into_iter().chain(self.left()).min()
    }

    /// What its `deadline` leaves, its `margin` taken off.
    #[inline]
    pub(crate) fn left(&self) -> Option<Duration> {
        self.left
    }

    /// The same, worked out once.
    const fn with_left(self) -> Self {
        let left = match (self.deadline, self.margin) {
            (Some(deadline), Some(margin)) => Some(deadline.saturating_sub(margin)),
            (deadline, _) => deadline,
        };
        Self { left, ..self }
    }

    /// The deadline of a call that begins now and has inherited another, and whether it is the function's own.
    pub(crate) fn narrowed(&self, inherited: Option<Instant>) -> Option<(Instant, bool)> {
        let own = self
            .deadline
            .map(|deadline| time::after(time::now(), deadline));
        let by = own.into_iter().chain(inherited).min()?;
        let by = by
            .checked_sub(self.margin.unwrap_or_default())
            .unwrap_or(by);
        let is_own = own.is_some_and(|own| inherited.is_none_or(|inherited| own <= inherited));
        Some((by, is_own))
    }

    /// Whether it asks for the deadline of its caller and has none of its own.
    pub(crate) fn depends_on_a_deadline(&self) -> bool {
        self.margin.is_some() && self.deadline.is_none()
    }

    pub(crate) fn has_deadline_keys(&self) -> bool {
        self.margin.is_some() || self.deadline.is_some()
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

    #[inline]
    pub(crate) const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}
