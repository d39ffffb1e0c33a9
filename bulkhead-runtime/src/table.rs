//! Every share on one page, for a review.

use std::fmt;

use crate::dependency::{Dependency, dependencies};
use crate::partition::Partition;
use crate::registry::{identity, partitions};

/// Every partition and dependency of the program with its policy, as declared: a small text that changes
/// only when a declaration does.
///
/// Made to be checked in and compared in a test, so that a review shows what a change of a number comes to:
///
/// ```text
/// -shop/postgres: 15 of 27
/// +shop/postgres: 27 of 27
///    capacity = 30, spare = 3, replicas = 1
/// -  checkout: max = 8, queue = 16, wait = 50ms
/// +  checkout: max = 20, queue = 16, wait = 50ms
///    reports: max = 7, queue = 0
/// ```
///
/// Dependencies come first, in the order of crate and name, with their partitions in the order of their
/// declaration; then the partitions that belong to none. What [`register`](crate::register) made comes
/// from configuration, and is not on it.
///
/// # Examples
/// A test that fails when a share changes and the file does not. With `UPDATE_TABLE=1` it writes the file:
/// ```
/// use std::{env, fs};
///
/// # let dir = env::temp_dir().join(format!("bulkhead-table-{}", std::process::id()));
/// # fs::create_dir_all(&dir)?;
/// # let file = dir.join("partitions.txt");
/// # fs::write(&file, bulkhead_runtime::table().to_string())?;
/// # #[cfg(any())]
/// let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/partitions.txt");
/// let table = bulkhead_runtime::table().to_string();
/// if env::var_os("UPDATE_TABLE").is_some() {
///     fs::write(&file, &table)?;
/// }
/// assert_eq!(fs::read_to_string(&file)?, table, "run the test with UPDATE_TABLE=1");
/// # fs::remove_dir_all(dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn table() -> Table {
    Table
}

/// See [`table`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Table;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for dependency in dependencies() {
            write_dependency(f, dependency)?;
        }
        let alone: Vec<_> = partitions()
            .filter(|one| is_declared(one) && is_alone(one))
            .collect();
        if !alone.is_empty() {
            writeln!(f, "without a dependency")?;
        }
        for partition in alone {
            let (krate, name) = identity(partition);
            writeln!(f, "  {krate}/{name}: {}", partition.policy())?;
        }
        Ok(())
    }
}

fn write_dependency(f: &mut fmt::Formatter<'_>, dependency: &Dependency) -> fmt::Result {
    let share = dependency.declared_share();
    let sum: u64 = dependency
        .partitions()
        .map(|partition| u64::from(partition.policy().max()))
        .sum();
    let (krate, name) = dependency.identity();
    writeln!(f, "{krate}/{name}: {sum} of {}", share.of_a_replica())?;
    writeln!(
        f,
        "  capacity = {}, spare = {}, replicas = {}",
        share.capacity, share.spare, share.replicas
    )?;
    for partition in dependency.partitions() {
        writeln!(f, "  {}: {}", partition.name(), partition.policy())?;
    }
    Ok(())
}

fn is_declared(partition: &Partition) -> bool {
    !identity(partition).0.is_empty()
}

fn is_alone(partition: &Partition) -> bool {
    !dependencies().any(|dependency| dependency.counts(partition.declared()))
}
