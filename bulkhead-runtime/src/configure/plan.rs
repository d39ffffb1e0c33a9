//! What a set of overrides amounts to: found and checked before anything is touched.

use super::text::short;
use super::{Override, Problem};
use crate::admission::Terms;
use crate::dependency::{Dependency, dependencies};
use crate::mode::Mode;
use crate::partition::{Live, Partition};
use crate::policy::{Policy, PolicyError};
use crate::registry::{self, partitions};

/// What will hold.
#[derive(Default)]
pub(super) struct Plan {
    partitions: Vec<(&'static Live, Changed)>,
    replicas: Vec<(&'static Dependency, u32)>,
}

/// What will hold of a partition, and the mode if something is said of it.
#[derive(Clone, Copy)]
struct Changed {
    terms: Terms,
    mode: Option<Mode>,
}

impl Plan {
    /// Finds every name, checks every value and every sum, and adds all that is wrong to `problems`.
    pub(super) fn of(entries: &[(String, Override)], problems: &mut Vec<Problem>) -> Self {
        let mut plan = Self::default();
        for (at, (name, says)) in entries.iter().enumerate() {
            if entries[..at].iter().any(|(earlier, _)| earlier == name) {
                let name = name.clone();
                problems.push(Problem::Twice { name });
            } else if let Err(problem) = plan.add(name, says) {
                problems.push(problem);
            }
        }
        problems.extend(plan.broken_sums(problems).collect::<Vec<_>>());
        plan
    }

    /// Nothing here can fail: all was checked, and no number has changed since.
    pub(super) fn apply(&self) {
        for (dependency, replicas) in &self.replicas {
            registry::set_replicas(dependency, *replicas);
        }
        for (live, changed) in &self.partitions {
            live.gate.change(|now| {
                // A mode that nothing was said of is whatever it is by now.
                let mode = changed.mode.unwrap_or(now.mode);
                *now = Terms {
                    mode,
                    ..changed.terms
                };
            });
        }
    }

    /// Hands over what has become free. It wakes, and a waker is foreign code, which may change numbers itself.
    pub(super) fn settle(&self) {
        for (live, _) in &self.partitions {
            live.gate.hand_over();
        }
    }

    fn add(&mut self, name: &str, says: &Override) -> Result<(), Problem> {
        if !says.is_of_a_partition() && says.replicas.is_none() {
            let name = name.to_owned();
            return Err(Problem::Empty { name });
        }
        if let Some(replicas) = says.replicas {
            let dependency = found("dependency", name, dependencies(), Dependency::identity)?;
            if self
                .replicas
                .iter()
                .any(|(known, _)| known.identity() == dependency.identity())
            {
                let name = name.to_owned();
                return Err(Problem::Twice { name });
            }
            self.replicas.push((dependency, replicas));
        }
        if says.is_of_a_partition() {
            let live = found("partition", name, partitions(), registry::identity)?.live();
            if self
                .partitions
                .iter()
                .any(|(known, _)| std::ptr::eq(*known, live))
            {
                let name = name.to_owned();
                return Err(Problem::Twice { name });
            }
            let illegal = |error| Problem::Illegal {
                name: name.to_owned(),
                error,
            };
            let terms = changed(live.partition.policy(), live.gate.terms(), says);
            let changed = Changed {
                terms: terms.map_err(illegal)?,
                mode: says.mode,
            };
            self.partitions.push((live, changed));
        }
        Ok(())
    }

    /// Where an entry could not be used, the sum would be that of another mistake.
    fn broken_sums(&self, problems: &[Problem]) -> impl Iterator<Item = Problem> {
        let wrong: Vec<&str> = problems.iter().filter_map(Problem::about).collect();
        let is_wrong = move |partition: &Partition| {
            let (krate, name) = registry::identity(partition);
            wrong
                .iter()
                .any(|wrong| *wrong == name || *wrong == format!("{krate}/{name}"))
        };
        dependencies()
            .filter(move |dependency| !dependency.partitions().any(&is_wrong))
            .filter_map(|dependency| {
                let error = self.check_sum(dependency).err()?;
                let name = dependency.name().to_owned();
                Some(Problem::Illegal { name, error })
            })
    }

    fn check_sum(&self, dependency: &'static Dependency) -> Result<(), PolicyError> {
        let replicas = self
            .replicas
            .iter()
            .find(|(planned, _)| planned.identity() == dependency.identity());
        let touched = |partition: &Partition| self.terms(partition.live()).is_some();
        if replicas.is_none() && !dependency.partitions().any(touched) {
            return Ok(());
        }
        let max = |partition: &'static Partition| {
            let live = partition.live();
            self.terms(live)
                .map_or_else(|| live.gate.max_now(), |terms| terms.max)
        };
        // To fewer is a step in the right direction, even from a sum that is too large.
        if replicas.is_none() && dependency.sum_with(max) <= dependency.sum_now() {
            return Ok(());
        }
        let mut share = dependency.numbers();
        share.replicas = replicas.map_or(share.replicas, |(_, replicas)| *replicas);
        dependency.check(share, max)
    }

    fn terms(&self, live: &'static Live) -> Option<Terms> {
        let planned = |(planned, _): &&(&Live, Changed)| std::ptr::eq(*planned, live);
        let planned = self.partitions.iter().find(planned);
        planned.map(|(_, changed)| changed.terms)
    }
}

/// The one that a user means by `name` or `crate/name`.
fn found<T>(
    kind: &'static str,
    name: &str,
    all: impl Iterator<Item = &'static T>,
    identity: fn(&T) -> (&'static str, &'static str),
) -> Result<&'static T, Problem> {
    let all: Vec<_> = all.collect();
    let is_meant = |one: &&&T| match name.split_once('/') {
        Some(qualified) => identity(one) == qualified,
        None => identity(one).1 == name,
    };
    let meant: Vec<_> = all.iter().filter(is_meant).copied().collect();
    let name = name.to_owned();
    match *meant {
        [one] => Ok(one),
        [] => Err(Problem::Unknown {
            kind,
            known: known(kind, &name, all.iter().map(|one| identity(one).1)),
            name: short(&name),
        }),
        _ => Err(Problem::Ambiguous {
            candidates: candidates(meant.iter().map(|one| identity(one)).collect()),
            name,
        }),
    }
}

fn candidates(mut meant: Vec<(&str, &str)>) -> String {
    let all = meant.len();
    meant.dedup();
    if meant.len() < all {
        return format!("`{}` has more than one of them, so rename one", meant[0].0);
    }
    let names: Vec<_> = meant
        .iter()
        .map(|(krate, name)| format!("`{krate}/{name}`"))
        .collect();
    format!("write {}", names.join(" or "))
}

/// What there is, in words; all of it only where that is not much.
fn known(kind: &str, name: &str, names: impl Iterator<Item = &'static str>) -> String {
    const MANY: usize = 12;
    let is_other = match kind {
        "partition" => dependencies().any(|other| other.is_called(name)),
        _ => partitions().any(|other| other.name() == name),
    };
    if is_other && kind == "partition" {
        return "is a dependency of that name, which takes `replicas` only".to_owned();
    }
    if is_other {
        return "is a partition of that name, and `replicas` is said of a dependency".to_owned();
    }
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "is none".to_owned(),
        1 => format!("is {}", names[0]),
        2..=MANY => format!("are {}", names.join(", ")),
        all => format!("are {}, and {} more", names[..MANY].join(", "), all - MANY),
    }
}

/// What holds of a partition, after what is said of it: by the rules of its policy.
fn changed(declared: &Policy, now: Terms, says: &Override) -> Result<Terms, PolicyError> {
    let max = says.max.unwrap_or(now.max);
    let queue = says.queue.unwrap_or(now.queue);
    let mut wait = says.wait.unwrap_or(now.wait);
    if queue > 0 && wait.is_zero() && says.wait.is_none() {
        return Err(PolicyError::QueueWithoutWait { queue });
    }
    if queue == 0 && says.wait.is_none() {
        // That of the queue that there was.
        wait = std::time::Duration::ZERO;
    }
    let policy = declared.resized(max)?.checked_queue(queue, wait)?;
    Ok(Terms {
        max: policy.max(),
        queue: policy.queue(),
        wait: policy.wait(),
        ..now
    })
}
