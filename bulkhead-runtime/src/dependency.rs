//! What partitions protect: a dependency that several of them share, and the sum that it can take.

use std::fmt;

use crate::outcome::Outcomes;
use crate::partition::{Declared, Partition};
use crate::policy::{PolicyError, Share};
use crate::registry;
use crate::snapshot::{Rejected, Snapshot};

/// A dependency whose capacity several partitions share; declared with
/// [`#[dependency]`](macro@crate::dependency) on an inline module of [`Partition`]s.
///
/// While compiling, the permits of its partitions, times its replicas, are held against what it can take.
/// While the program runs, [`resize`](Partition::resize) and [`configure`](crate::configure) hold to the same
/// sum.
///
/// # Examples
/// ```
/// use bulkhead_runtime::dependency;
///
/// /// Takes 120 connections; 8 stay free for administration; at most 4 replicas run at once.
/// #[dependency(capacity = 120, spare = 8, replicas = 4)]
/// mod ledger {
///     use bulkhead_runtime::{partition, Partition};
///
///     #[partition(name = "bookings", max = 20)]
///     pub static BOOKINGS: Partition;
///     #[partition(name = "statements", max = 7)]
///     pub static STATEMENTS: Partition;
/// }
///
/// let ledger = dependency("ledger").expect("it is declared above");
/// assert_eq!((ledger.sum(), ledger.share()), (27, 28));
/// assert!(ledger::BOOKINGS.resize(22).is_err(), "22 and 7 are more than 28");
/// ```
pub struct Dependency(DeclaredDependency);

/// What a declaration fixes. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the expansion of the macros builds it"
)]
pub struct DeclaredDependency {
    /// The name of the module.
    pub name: &'static str,
    /// The path of the module that the module stands in.
    pub module: &'static str,
    pub file: &'static str,
    pub line: u32,
    pub capacity: u32,
    pub spare: u32,
    pub replicas: u32,
    pub partitions: &'static [&'static Partition],
}

/// A declaration, collected at link time. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug)]
pub struct DependencyRegistration(&'static Dependency);

impl DependencyRegistration {
    /// Registers a static.
    #[must_use]
    pub const fn new(dependency: &'static Dependency) -> Self {
        Self(dependency)
    }
}

inventory::collect!(DependencyRegistration);

/// All dependencies of the program, ordered by crate and name.
pub fn dependencies() -> impl Iterator<Item = &'static Dependency> {
    let mut all: Vec<_> = inventory::iter::<DependencyRegistration>()
        .map(|registration| registration.0)
        .collect();
    all.sort_by_key(|dependency| (dependency.identity(), dependency.0.file, dependency.0.line));
    all.into_iter()
}

/// The dependency of that name: that of its module.
///
/// `None` when there is none, and when there are several; one of them is looked up as
/// `"that_crate/name"`.
#[must_use]
pub fn dependency(name: &str) -> Option<&'static Dependency> {
    let mut named = dependencies().filter(|dependency| dependency.is_called(name));
    named.next().filter(|_| named.next().is_none())
}

impl Dependency {
    pub(crate) const fn declare(declared: DeclaredDependency) -> Self {
        Self(declared)
    }

    /// The name of its module.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.0.name
    }

    /// The crate that declares it.
    #[must_use]
    pub fn crate_name(&self) -> &'static str {
        Declared::crate_of(self.0.module)
    }

    /// Calls that it can take at once, from everybody.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.0.capacity
    }

    /// What of its capacity stays free.
    #[must_use]
    pub const fn spare(&self) -> u32 {
        self.0.spare
    }

    /// Processes that can run at once: as declared, or as [`configure`](crate::configure) has said since.
    #[must_use]
    pub fn replicas(&self) -> u32 {
        registry::replicas(self).unwrap_or(self.0.replicas)
    }

    /// What this process may take of it: (capacity − spare) ÷ replicas, rounded down.
    #[must_use]
    pub fn share(&self) -> u32 {
        self.numbers().of_a_replica()
    }

    /// What its partitions may take now: the sum of their `max`.
    #[must_use]
    pub fn sum(&self) -> u64 {
        registry::while_nothing_changes(|| self.sum_now())
    }

    /// The same for those who see to it that nothing changes.
    pub(crate) fn sum_now(&self) -> u64 {
        self.sum_with(|partition| partition.live().gate.max_now())
    }

    /// Its partitions, in the order of their declaration.
    pub fn partitions(&self) -> impl Iterator<Item = &'static Partition> + use<> {
        self.0.partitions.iter().copied()
    }

    /// Every count of its partitions, and their sums.
    ///
    /// The partitions are looked at one after the other: while calls begin and end, the sums are those of
    /// no single moment.
    #[must_use]
    pub fn snapshot(&self) -> DependencySnapshot {
        DependencySnapshot::of(self)
    }

    pub(crate) fn numbers(&self) -> Share {
        Share {
            replicas: self.replicas(),
            ..self.declared_share()
        }
    }

    pub(crate) const fn declared_share(&self) -> Share {
        Share {
            capacity: self.0.capacity,
            spare: self.0.spare,
            replicas: self.0.replicas,
        }
    }

    /// The path of its module.
    pub(crate) fn path(&self) -> String {
        format!("{}::{}", self.0.module, self.0.name)
    }

    /// Where it is declared: file and line.
    pub(crate) fn site(&self) -> String {
        format!("{}:{}", self.0.file, self.0.line)
    }

    pub(crate) fn identity(&self) -> (&'static str, &'static str) {
        (self.crate_name(), self.0.name)
    }

    /// Whether its sum counts what was declared.
    pub(crate) fn counts(&self, declared: &Declared) -> bool {
        self.partitions().any(|partition| {
            registry::identity(partition) == (declared.crate_name(), declared.name)
        })
    }

    /// Whether a user means it by `name` or `crate/name`.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        match name.split_once('/') {
            Some(qualified) => qualified == self.identity(),
            None => name == self.0.name,
        }
    }

    /// Whether the sum fits, with what holds now.
    pub(crate) fn check_now(&self) -> Result<(), PolicyError> {
        registry::while_nothing_changes(|| {
            self.check(self.numbers(), |partition| partition.live().gate.max_now())
        })
    }

    /// Whether the sum would fit, with `max` for each of its partitions.
    pub(crate) fn check(
        &self,
        share: Share,
        max: impl Fn(&'static Partition) -> u32,
    ) -> Result<(), PolicyError> {
        share.check()?;
        share.fits(self.0.name, self.sum_with(max))
    }

    /// What its partitions would take, with `max` for each.
    pub(crate) fn sum_with(&self, max: impl Fn(&'static Partition) -> u32) -> u64 {
        self.partitions()
            .map(|partition| u64::from(max(partition)))
            .sum()
    }
}

impl fmt::Debug for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dependency")
            .field("name", &self.name())
            .field("crate", &self.crate_name())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// Every count of a dependency's partitions, and their sums.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DependencySnapshot {
    /// The name of the dependency.
    pub name: &'static str,
    /// The crate that declares it.
    pub crate_name: &'static str,
    /// Calls that it can take at once, from everybody.
    pub capacity: u64,
    /// What of that stays free.
    pub spare: u64,
    /// Processes that can run at once.
    pub replicas: u64,
    /// What this process may take of it.
    pub share: u64,
    /// Permits of all its partitions.
    pub max: u64,
    /// Bodies that run.
    pub in_flight: u64,
    /// Permits handed to waiters that have not claimed them yet.
    pub granted: u64,
    /// Calls that wait.
    pub waiting: u64,
    /// Permits left, of all its partitions.
    pub headroom: u64,
    /// Calls whose body never started, by reason.
    pub rejected: Rejected,
    /// How the admitted calls ended.
    pub outcomes: Outcomes,
    /// Each partition, in the order of its declaration.
    pub partitions: Vec<Snapshot>,
}

impl DependencySnapshot {
    fn of(dependency: &Dependency) -> Self {
        let partitions: Vec<_> = dependency.partitions().map(Partition::snapshot).collect();
        let sum = |count: fn(&Snapshot) -> u64| partitions.iter().map(count).sum();
        Self {
            name: dependency.name(),
            crate_name: dependency.crate_name(),
            capacity: dependency.capacity().into(),
            spare: dependency.spare().into(),
            replicas: dependency.replicas().into(),
            share: dependency.share().into(),
            max: sum(|part| part.max),
            in_flight: sum(|part| part.in_flight),
            granted: sum(|part| part.granted),
            waiting: sum(|part| part.waiting),
            headroom: sum(|part| part.headroom),
            rejected: partitions.iter().map(|part| part.rejected).sum(),
            outcomes: partitions.iter().map(|part| part.outcomes).sum(),
            partitions,
        }
    }
}
