//! Which partitions there are, and which handles are one partition.
//!
//! Declarations register at link time, so that a partition is known before its first call. An
//! identity is a crate and a name. Copies of one declaration (a macro may double a function) and
//! declarations that agree share it; where two disagree, the first by file, line and column holds,
//! and [`verify`](crate::verify) tells.

use std::fmt;
use std::panic::Location;

use crate::dependency::{Dependency, dependencies};
use crate::observer;
use crate::partition::{Declared, Live, Partition, State};
use crate::policy::{Policy, PolicyError, check_name};
use crate::snapshot::Snapshot;
use crate::sync::StaticMutex;

/// A declaration, collected at link time. Public for the expansion of the macros only.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registration(&'static Partition);

impl Registration {
    /// Registers a static.
    #[must_use]
    pub const fn new(partition: &'static Partition) -> Self {
        Self(partition)
    }
}

inventory::collect!(Registration);

/// The crate of those that [`register`] made: they belong to the program, not to a crate.
const REGISTERED: &str = "";

static REGISTRY: StaticMutex<Registry> = StaticMutex::new(Registry {
    lives: Vec::new(),
    registered: Vec::new(),
    replicas: Vec::new(),
    drains: false,
});

/// Held while numbers change, so that nothing comes between a sum and what it was checked for.
static CHANGES: StaticMutex<()> = StaticMutex::new(());

struct Registry {
    /// One for each identity that was used.
    lives: Vec<&'static Live>,
    registered: Vec<&'static Partition>,
    /// Those of dependencies that were configured otherwise than declared.
    replicas: Vec<(&'static Dependency, u32)>,
    /// Whether what is made from now on drains.
    drains: bool,
}

/// All partitions of the program, one for each identity, ordered by crate and name; those that
/// [`register`] made come first.
///
/// A partition is listed before its first call. A crate that is linked but never named by the program
/// may be left out by the linker; `use that_crate as _;` keeps it.
///
/// # Examples
/// ```
/// # use bulkhead_runtime::{partition, partitions, Partition};
/// #[partition(name = "letters", max = 2)]
/// static LETTERS: Partition;
///
/// assert!(partitions().any(|partition| partition.name() == "letters"));
/// ```
pub fn partitions() -> impl Iterator<Item = &'static Partition> {
    let mut all: Vec<_> = declarations()
        .chain(REGISTRY.lock().registered.iter().copied())
        .collect();
    all.sort_by_key(|partition| (identity(partition), partition.declared().order()));
    all.dedup_by_key(|partition| identity(partition));
    all.into_iter()
}

/// The partition of that name.
///
/// `None` when there is none, and when several crates have one of that name: those are looked up as
/// `"that_crate/name"`, which works for every declared partition.
///
/// It goes through all of them: look it up once, and keep the reference.
#[must_use]
pub fn partition(name: &str) -> Option<&'static Partition> {
    if let Some((krate, name)) = name.split_once('/') {
        return partitions().find(|partition| identity(partition) == (krate, name));
    }
    let mut named = partitions().filter(|partition| partition.name() == name);
    named.next().filter(|_| named.next().is_none())
}

/// A [`Snapshot`] of every partition, in the order of [`partitions`].
#[must_use]
pub fn snapshots() -> Vec<Snapshot> {
    partitions().map(Partition::snapshot).collect()
}

/// Makes a partition that only configuration knows; it lives as long as the program.
///
/// A second call with the same name and policy returns the same partition.
///
/// # Errors
/// When the name is not legal, when it was registered with another policy, and when a crate declares
/// a partition of that name.
///
/// # Examples
/// ```
/// use bulkhead_runtime::{register, Policy};
///
/// let partner = register("partner-7", Policy::checked(3)?)?;
/// assert_eq!(partner.policy().max(), 3);
///
/// let error = register("Partner", Policy::new(3)).unwrap_err();
/// assert!(error.to_string().starts_with("`name` may contain `a-z 0-9 _ - .`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn register(name: &str, policy: Policy) -> Result<&'static Partition, RegisterError> {
    check_name(name).map_err(RegisterError::Name)?;
    if let Some(declared) = declarations().find(|partition| partition.name() == name) {
        return Err(RegisterError::Declared(Existing(declared)));
    }
    let caller = Location::caller();
    let mut registry = REGISTRY.lock();
    if let Some(&known) = registry
        .registered
        .iter()
        .find(|partition| partition.name() == name)
    {
        return if *known.policy() == policy {
            Ok(known)
        } else {
            Err(RegisterError::Registered(Existing(known)))
        };
    }
    let declared = Declared {
        name: String::from(name).leak(),
        module: REGISTERED,
        file: caller.file(),
        line: caller.line(),
        column: caller.column(),
        policy,
    };
    let partition: &'static Partition = Box::leak(Box::new(Partition::declare(
        declared,
        Box::leak(Box::new(State::new())),
    )));
    registry.registered.push(partition);
    Ok(partition)
}

/// Gives a partition another `max`, unless it or its dependency forbids that.
pub(crate) fn resize(live: &'static Live, max: u32) -> Result<(), PolicyError> {
    let policy = live.partition.policy().resized(max)?;
    while_nothing_changes(|| resize_alone(live, policy.max()))?;
    // Wakes, and so only now: a waker is foreign code, and may change numbers itself.
    live.gate.hand_over();
    Ok(())
}

fn resize_alone(live: &'static Live, max: u32) -> Result<(), PolicyError> {
    // To fewer is a step in the right direction, even from a sum that is too large.
    let grows = max > live.gate.max_now();
    for dependency in dependencies_of(live).filter(|_| grows) {
        dependency.check(dependency.numbers(), |partition| match partition.live() {
            other if std::ptr::eq(other, live) => max,
            other => other.gate.max_now(),
        })?;
    }
    live.gate.change(|terms| terms.max = max);
    Ok(())
}

/// Numbers change one set after the other, so that nothing comes between a sum and what it is checked for.
///
/// Whatever could be looked at in there is resolved before: on its first use a partition may tell a listener
/// of a conflict, and that is foreign code.
pub(crate) fn while_nothing_changes<T>(run: impl FnOnce() -> T) -> T {
    for partition in dependencies().flat_map(Dependency::partitions) {
        partition.live();
    }
    let _changes = CHANGES.lock();
    run()
}

/// The dependencies that count the partition into their sum.
fn dependencies_of(live: &'static Live) -> impl Iterator<Item = &'static Dependency> {
    dependencies().filter(move |dependency| dependency.counts(live.partition.declared()))
}

/// The replicas of `dependency`, if they were configured otherwise than declared.
pub(crate) fn replicas(dependency: &Dependency) -> Option<u32> {
    #[cfg(feature = "test-util")]
    if crate::test::is_isolated() {
        return crate::test::isolated_replicas(dependency.identity());
    }
    let registry = REGISTRY.lock();
    let known = registry
        .replicas
        .iter()
        .find(|(known, _)| known.identity() == dependency.identity());
    known.map(|(_, replicas)| *replicas)
}

/// Keeps what was configured: these replicas in the place of the declared.
pub(crate) fn set_replicas(dependency: &'static Dependency, replicas: u32) {
    #[cfg(feature = "test-util")]
    if crate::test::isolate_replicas(dependency.identity(), replicas) {
        return;
    }
    let mut registry = REGISTRY.lock();
    let all = &mut registry.replicas;
    all.retain(|(known, _)| known.identity() != dependency.identity());
    all.push((dependency, replicas));
}

/// What the identity of `partition` shares; made on its first use.
pub(crate) fn live(partition: &Partition) -> &'static Live {
    let mut registry = REGISTRY.lock();
    if let Some(live) = registry
        .lives
        .iter()
        .find(|live| identity(live.partition) == identity(partition))
    {
        return live;
    }
    let first = first_of(&registry, partition);
    let live = Live::make(first, registry.drains);
    registry.lives.push(live);
    drop(registry);
    for conflict in conflicts_with(first) {
        observer::conflict(&conflict);
    }
    live
}

/// What all partitions share that were ever used.
pub(crate) fn lives() -> Vec<&'static Live> {
    #[cfg(feature = "test-util")]
    if let Some(isolated) = crate::test::isolated_lives() {
        return isolated;
    }
    REGISTRY.lock().lives.clone()
}

/// From now on every state drains from its beginning. Returns those that exist; the caller has them drain.
pub(crate) fn drain_from_now_on() -> Vec<&'static Live> {
    // Those that were never used as well: each of them is to be told of.
    for partition in partitions() {
        partition.live();
    }
    #[cfg(feature = "test-util")]
    if crate::test::drain_from_now_on() {
        return lives();
    }
    let mut registry = REGISTRY.lock();
    registry.drains = true;
    registry.lives.clone()
}

/// The declaration that holds for the identity of `partition`.
#[cfg(feature = "test-util")]
pub(crate) fn first(partition: &Partition) -> &'static Partition {
    first_of(&REGISTRY.lock(), partition)
}

fn first_of(registry: &Registry, partition: &Partition) -> &'static Partition {
    declarations()
        .chain(registry.registered.iter().copied())
        .filter(|candidate| identity(candidate) == identity(partition))
        .min_by_key(|candidate| candidate.declared().order())
        .unwrap_or_else(|| Box::leak(Box::new(partition.copy())))
}

/// What was declared, each as often as it was.
pub(crate) fn declarations() -> impl Iterator<Item = &'static Partition> {
    inventory::iter::<Registration>().map(|registration| registration.0)
}

pub(crate) fn identity(partition: &Partition) -> (&'static str, &'static str) {
    (partition.declared().crate_name(), partition.name())
}

/// The declarations of the identity of `first` whose policy is another, each site once.
pub(crate) fn conflicts_with(first: &'static Partition) -> impl Iterator<Item = Conflict> {
    let mut others: Vec<_> = declarations()
        .filter(|other| identity(other) == identity(first) && other.policy() != first.policy())
        .map(Partition::declared)
        .collect();
    others.sort_by_key(|declared| declared.order());
    others.dedup_by(|a, b| a.order() == b.order());
    others.into_iter().map(|other| Conflict {
        first: *first.declared(),
        other: *other,
    })
}

/// Two declarations of one identity that disagree.
#[derive(Clone)]
pub(crate) struct Conflict {
    pub(crate) first: Declared,
    pub(crate) other: Declared,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (this one holds) and {}",
            Site(&self.first),
            Site(&self.other)
        )
    }
}

struct Site<'a>(&'a Declared);

impl fmt::Display for Site<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Declared {
            file, line, policy, ..
        } = self.0;
        write!(f, "{file}:{line} says {policy}")
    }
}

/// Why a partition was not registered.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is not legal.
    #[error(transparent)]
    Name(PolicyError),
    /// The name was registered with another policy.
    #[error("`{}` is already registered with another policy: {}", .0.name(), .0)]
    Registered(Existing),
    /// A crate declares a partition of that name.
    #[error("`{}` is already declared: {}; use it through `partition(\"{}/{}\")`", .0.name(), .0, .0.0.declared().crate_name(), .0.name())]
    Declared(Existing),
}

/// The partition that already has a name: displayed as its site and its policy.
#[derive(Debug, Clone)]
pub struct Existing(&'static Partition);

impl Existing {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name()
    }
}

impl fmt::Display for Existing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Site(self.0.declared()).fmt(f)
    }
}
