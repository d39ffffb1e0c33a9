//! What only the whole program can tell.

use std::fmt;

use crate::dependency::dependencies;
use crate::partition::Partition;
use crate::policy::PolicyError;
use crate::registry::{Conflict, conflicts_with, declarations, identity, partitions};

/// Checks what only the whole program can tell: that no identity was declared with two policies, that the
/// sum of every dependency fits, that no dependency leaves out a partition of its module or shares one with
/// another, and that no name stands for two partitions, or for two dependencies.
///
/// One line for `main` or a test. The sums were checked while compiling; here they are checked by the
/// policies and replicas that hold.
///
/// It sees the crates that are linked. One that the program never names may be left out by the linker, and
/// nothing tells of it: `use that_crate as _;` keeps it.
///
/// # Errors
/// Every mistake at once, each with the sites or numbers that it is about.
///
/// # Examples
/// ```
/// bulkhead_runtime::verify()?;
/// # Ok::<(), bulkhead_runtime::VerifyError>(())
/// ```
/// Two crates of others may each have a partition `redis`, which is no mistake of theirs. To let that pass:
/// ```
/// use bulkhead_runtime::{verify, Mistake};
///
/// let is_ours = |mistake: &&Mistake| !matches!(mistake, Mistake::AmbiguousName { .. });
/// if let Err(error) = verify() {
///     assert_eq!(error.mistakes().iter().find(is_ours), None, "{error}");
/// }
/// ```
pub fn verify() -> Result<(), VerifyError> {
    let mistakes: Vec<_> = two_policies()
        .chain(broken_sums())
        .chain(uncounted())
        .chain(shared())
        .chain(ambiguous_names())
        .collect();
    if mistakes.is_empty() {
        Ok(())
    } else {
        Err(VerifyError { mistakes })
    }
}

/// Mistakes in how a program declares its partitions: displayed one a line.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyError {
    mistakes: Vec<Mistake>,
}

/// One mistake in how a program declares its partitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// One identity has two policies; that of the first site holds.
    #[error("`{name}` has two policies: {sites}")]
    #[non_exhaustive]
    TwoPolicies {
        /// The partition, as `crate/name`.
        name: String,
        /// Both sites, and what each says.
        sites: String,
    },
    /// The partitions of a dependency take more than it can.
    #[error("{error}")]
    #[non_exhaustive]
    BrokenSum {
        /// The dependency, as `crate/name`.
        name: String,
        /// The numbers.
        error: PolicyError,
    },
    /// A partition is declared inside the module of a dependency, and the dependency does not count it.
    #[error(
        "`{name}` is declared inside the dependency `{dependency}`, which does not count it: {site}; declare it as a static that stands in the module itself"
    )]
    #[non_exhaustive]
    Uncounted {
        /// The partition, as `crate/name`.
        name: String,
        /// The path of the dependency's module.
        dependency: String,
        /// File and line of the partition.
        site: String,
    },
    /// Two dependencies count one partition: when one of them hangs, the other has nothing left of it.
    #[error(
        "`{name}` belongs to several dependencies: {dependencies}; give each a partition of its own name"
    )]
    #[non_exhaustive]
    SharedPartition {
        /// The partition, as `crate/name`.
        name: String,
        /// The paths of the dependencies' modules.
        dependencies: String,
    },
    /// One name stands for several partitions or dependencies: it is looked up as one of `candidates`, and
    /// a metric with that label alone tells of both.
    #[error("`{name}` is the name of several {kind}: {candidates}")]
    #[non_exhaustive]
    AmbiguousName {
        /// `partitions` or `dependencies`.
        kind: &'static str,
        /// The name.
        name: &'static str,
        /// Where they are.
        candidates: String,
    },
}

fn two_policies() -> impl Iterator<Item = Mistake> {
    partitions().flat_map(conflicts_with).map(|conflict| {
        let Conflict { first, .. } = &conflict;
        Mistake::TwoPolicies {
            name: format!("{}/{}", first.crate_name(), first.name),
            sites: conflict.to_string(),
        }
    })
}

fn broken_sums() -> impl Iterator<Item = Mistake> {
    dependencies().filter_map(|dependency| {
        let error = dependency.check_now().err()?;
        let (krate, name) = dependency.identity();
        Some(Mistake::BrokenSum {
            name: format!("{krate}/{name}"),
            error,
        })
    })
}

/// A partition in a nested module, out of a macro, or of a method: the attribute on the module cannot see it.
fn uncounted() -> impl Iterator<Item = Mistake> {
    dependencies().flat_map(|dependency| {
        let path = dependency.path();
        let mut inside: Vec<_> = declarations()
            .map(Partition::declared)
            .filter(|declared| is_inside(declared.module, &path) && !dependency.counts(declared))
            .collect();
        // What is linked comes in any order, and a copy of a function once more.
        inside.sort_by_key(|declared| declared.order());
        inside.dedup_by(|a, b| a.order() == b.order());
        inside.into_iter().map(move |declared| Mistake::Uncounted {
            name: format!("{}/{}", declared.crate_name(), declared.name),
            dependency: path.clone(),
            site: format!("{}:{}", declared.file, declared.line),
        })
    })
}

fn is_inside(module: &str, path: &str) -> bool {
    module
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn shared() -> impl Iterator<Item = Mistake> {
    partitions().filter_map(|partition| {
        let of: Vec<_> = dependencies()
            .filter(|dependency| dependency.counts(partition.declared()))
            .map(|dependency| format!("`{}`", dependency.path()))
            .collect();
        let (krate, name) = identity(partition);
        (of.len() > 1).then(|| Mistake::SharedPartition {
            name: format!("{krate}/{name}"),
            dependencies: of.join(", "),
        })
    })
}

fn ambiguous_names() -> impl Iterator<Item = Mistake> {
    let of_partitions = partitions().map(|partition| {
        let declared = partition.declared();
        Named {
            name: declared.name,
            place: format!("`{}/{}`", declared.crate_name(), declared.name),
        }
    });
    let of_dependencies = dependencies().map(|dependency| Named {
        name: dependency.name(),
        place: format!("`{}` ({})", dependency.path(), dependency.site()),
    });
    ambiguous("partitions", of_partitions.collect())
        .chain(ambiguous("dependencies", of_dependencies.collect()))
}

/// A name, and where it is.
struct Named {
    name: &'static str,
    place: String,
}

fn ambiguous(kind: &'static str, mut all: Vec<Named>) -> impl Iterator<Item = Mistake> {
    all.sort_by(|a, b| (a.name, &a.place).cmp(&(b.name, &b.place)));
    let mistakes: Vec<_> = all
        .chunk_by(|a, b| a.name == b.name)
        .filter(|of_one_name| of_one_name.len() > 1)
        .map(|of_one_name| Mistake::AmbiguousName {
            kind,
            name: of_one_name[0].name,
            candidates: of_one_name
                .iter()
                .map(|named| named.place.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
        .collect();
    mistakes.into_iter()
}

impl VerifyError {
    /// All of them.
    #[must_use]
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

/// The same text as displayed: a `main` that returns this error prints it with `Debug`.
impl fmt::Debug for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.mistakes.iter().enumerate() {
            let separator = if at > 0 { "\n" } else { "" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyError {}
