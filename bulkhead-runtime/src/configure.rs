//! Numbers from operations: read in full, checked together, and applied all or not at all.

mod overrides;
mod plan;
#[cfg(feature = "serde")]
mod serde;
mod text;

use std::fmt;

pub use overrides::{Override, Overrides};
use plan::Plan;

use crate::policy::PolicyError;
use crate::registry;

/// Changes numbers and modes of partitions, and the replicas of dependencies, before or while they are
/// used.
///
/// All or nothing: every problem is told at once, and then nothing is applied. What is not named stays as
/// it is now. Changes take effect as those of [`resize`](crate::Partition::resize) and
/// [`mode`](crate::Partition::mode) do; a changed `wait` holds for those that come from now on. Declared
/// policies stay what they were; a [`Snapshot`](crate::Snapshot) tells what holds. A `wait` is not compared with
/// the `timeout` of functions: those are not known here. Nor are the numbers held against what was
/// `measured`: that is advice for those who declare.
///
/// # Errors
/// When a name is unknown or ambiguous, a value cannot be read or is not legal, or a dependency's sum would
/// not fit: all of it in one error, one line each.
///
/// # Examples
/// One line in `main`, for whoever is called at night:
/// ```
/// # use bulkhead_runtime::{configure, Overrides};
/// configure(Overrides::from_env())?;
/// # Ok::<(), bulkhead_runtime::ConfigureError>(())
/// ```
/// ```
/// use bulkhead_runtime::{configure, partition, Overrides, Partition};
///
/// #[partition(name = "exports", max = 4, queue = 4, wait = 50ms)]
/// static EXPORTS: Partition;
///
/// configure(Overrides::from_text("exports: max=8 wait=25ms"))?;
/// assert_eq!(EXPORTS.snapshot().max, 8);
///
/// let error = configure(Overrides::from_text("exports: max=0; exprots: mode=off")).unwrap_err();
/// assert_eq!(error.problems().len(), 2);
/// assert_eq!(EXPORTS.snapshot().max, 8, "nothing was applied");
/// # Ok::<(), bulkhead_runtime::ConfigureError>(())
/// ```
pub fn configure(overrides: Overrides) -> Result<(), ConfigureError> {
    let (entries, mut problems) = overrides.into_parts();
    for partition in registry::partitions() {
        partition.live();
    }
    let plan = registry::while_nothing_changes(|| {
        let plan = Plan::of(&entries, &mut problems);
        if problems.is_empty() {
            plan.apply();
        }
        plan
    });
    if !problems.is_empty() {
        return Err(ConfigureError { problems });
    }
    plan.settle();
    Ok(())
}

/// Everything that is wrong with a set of [`Overrides`]: displayed one a line.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigureError {
    problems: Vec<Problem>,
}

/// One thing that is wrong with a set of [`Overrides`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A part of the text cannot be read.
    #[error("`{part}`: {what}")]
    #[non_exhaustive]
    Unreadable {
        /// The part.
        part: String,
        /// What is wrong with it, and what to write.
        what: String,
    },
    /// There is no partition or dependency of that name.
    #[error("unknown {kind} `{name}`; there {known}")]
    #[non_exhaustive]
    Unknown {
        /// What the keys are for: `partition` or `dependency`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What there is, in words.
        known: String,
    },
    /// There are several of that name.
    #[error("`{name}` could be several: {candidates}")]
    #[non_exhaustive]
    Ambiguous {
        /// The name.
        name: String,
        /// What to write instead, or to rename.
        candidates: String,
    },
    /// The name is given twice.
    #[error("`{name}` is given twice")]
    #[non_exhaustive]
    Twice {
        /// The name.
        name: String,
    },
    /// Nothing is said of the name.
    #[error("`{name}` is named, and nothing is said of it: write for example `{name}: max=8`")]
    #[non_exhaustive]
    Empty {
        /// The name.
        name: String,
    },
    /// A value is not legal.
    #[error("{}", illegal(name, error))]
    #[non_exhaustive]
    Illegal {
        /// The name.
        name: String,
        /// What is wrong with it.
        error: PolicyError,
    },
}

/// A broken sum names its dependency itself.
fn illegal(name: &str, error: &PolicyError) -> String {
    match error {
        PolicyError::OverCapacity { .. } => error.to_string(),
        _ => format!("`{name}`: {error}"),
    }
}

impl Problem {
    /// The name whose entry could not be used.
    fn about(&self) -> Option<&str> {
        match self {
            Self::Unreadable { part, .. } => part.split_once(':').map(|(name, _)| name),
            Self::Illegal { name, .. } | Self::Twice { name } => Some(name),
            Self::Unknown { .. } | Self::Ambiguous { .. } | Self::Empty { .. } => None,
        }
    }
}

impl ConfigureError {
    /// All of them.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing was configured:")?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

/// The same text as displayed: a `main` that returns this error prints it with `Debug`.
impl fmt::Debug for ConfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigureError {}
