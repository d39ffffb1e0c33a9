//! What an operator may say.

use std::time::Duration;

use super::Problem;
use super::text;
use crate::mode::Mode;

/// What is to change, by the names of partitions and dependencies; for [`configure`](crate::configure).
///
/// A name is that of the declaration, or `crate/name` where several crates have one of that name.
///
/// From code, from the environment, or from a file: with the feature `serde` it is a map of names, so that
/// TOML, YAML and JSON work.
///
/// ```toml
/// [report]
/// max = 8
/// wait = "25ms"
///
/// [postgres]
/// replicas = 6
/// ```
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::{Mode, Override, Overrides};
///
/// let by_hand = Overrides::new()
///     .with("report", Override::new().max(8).wait(Duration::from_millis(25)))
///     .with("export", Override::new().mode(Mode::Off));
/// assert_eq!(by_hand, Overrides::from_text("report: max=8 wait=25ms; export: mode=off"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    entries: Vec<(String, Override)>,
    /// What could not be read: told by [`configure`](crate::configure), with everything else.
    problems: Vec<Problem>,
}

/// What is to change of one partition, or of one dependency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "serde",
    derive(::serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Override {
    /// Of a partition: calls in flight at once.
    pub max: Option<u32>,
    /// Of a partition: calls that may wait.
    pub queue: Option<u32>,
    /// Of a partition: the longest time in the queue. In a file it is a text such as `25ms`.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::serde::duration"))]
    pub wait: Option<Duration>,
    /// Of a partition: whether it rejects. In a file and in a text, in small letters.
    pub mode: Option<Mode>,
    /// Of a dependency: processes that can run at once.
    pub replicas: Option<u32>,
}

impl Overrides {
    /// The name of the environment variable that [`from_env`](Self::from_env) reads.
    pub const VARIABLE: &'static str = "BULKHEAD";

    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// And of `name`, this.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, says: Override) -> Self {
        self.entries.push((name.into(), says));
        self
    }

    /// What the environment variable `BULKHEAD` says, read as by [`from_text`](Self::from_text); nothing, if
    /// there is no such variable.
    #[must_use]
    pub fn from_env() -> Self {
        match std::env::var(Self::VARIABLE) {
            Ok(text) => Self::from_text(&text),
            Err(std::env::VarError::NotPresent) => Self::new(),
            Err(std::env::VarError::NotUnicode(text)) => Self {
                entries: Vec::new(),
                problems: vec![Problem::Unreadable {
                    part: text.to_string_lossy().into_owned(),
                    what: "this is not UTF-8".to_owned(),
                }],
            },
        }
    }

    /// Reads names and what to change of them, separated by semicolons:
    /// `report: max=8 wait=25ms; checkout: max=20; export: mode=off; postgres: replicas=6`.
    ///
    /// The keys are `max`, `queue`, `wait` and `mode` of a partition, and `replicas` of a dependency.
    ///
    /// What cannot be read is told by [`configure`](crate::configure), with everything else that is wrong.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut overrides = Self::new();
        text::read(text, &mut overrides.entries, &mut overrides.problems);
        overrides
    }

    pub(super) fn into_parts(self) -> (Vec<(String, Override)>, Vec<Problem>) {
        (self.entries, self.problems)
    }

    #[cfg(feature = "serde")]
    pub(super) fn names(&self, name: &str) -> bool {
        self.entries.iter().any(|(named, _)| named == name)
    }
}

impl Override {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls in flight at once.
    #[must_use]
    pub fn max(mut self, max: u32) -> Self {
        self.max = Some(max);
        self
    }

    /// Calls that may wait.
    #[must_use]
    pub fn queue(mut self, queue: u32) -> Self {
        self.queue = Some(queue);
        self
    }

    /// The longest time in the queue.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Whether it rejects.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Processes that can run at once: of a dependency.
    #[must_use]
    pub fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Whether it says something of a partition.
    pub(super) fn is_of_a_partition(&self) -> bool {
        self.max.is_some() || self.queue.is_some() || self.wait.is_some() || self.mode.is_some()
    }
}
