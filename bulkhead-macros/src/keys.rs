//! The keys, and which list takes which.

use syn::{Ident, ext::IdentExt};

use crate::unknown::{self, Unknown};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::enum_variant_names, reason = "`per_key` is called so")]
pub(crate) enum Key {
    Name,
    Max,
    Queue,
    Wait,
    Reserve,
    PerKey,
    Measured,
    Rate,
    Mean,
    Shed,
    Status,
    Timeout,
    Deadline,
    Margin,
    Breaker,
    FailureRate,
    SlowRate,
    Slow,
    Window,
    MinCalls,
    Consecutive,
    OpenFor,
    MaxOpenFor,
    Probes,
    Reject,
    Classify,
    Capacity,
    Spare,
    Replicas,
    Crate,
}

/// What stands behind a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    Text,
    Count,
    /// A count that may have a point.
    Rate,
    Duration,
    Percentage,
    Function,
    Path,
    /// A list of keys, in place of `= value`.
    List(Attribute),
}

/// The attribute whose keys are being read, or the list inside of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    Bulkhead,
    Partition,
    /// `measured(…)` inside of `#[partition]`.
    Measured,
    /// `breaker(…)` inside of `#[partition]` or `#[bulkhead]`.
    Breaker,
    Dependency,
}

impl Key {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Max => "max",
            Self::Queue => "queue",
            Self::Wait => "wait",
            Self::Reserve => "reserve",
            Self::PerKey => "per_key",
            Self::Measured => "measured",
            Self::Rate => "rate",
            Self::Mean => "mean",
            Self::Shed => "shed",
            Self::Status => "status",
            Self::Timeout => "timeout",
            Self::Deadline => "deadline",
            Self::Margin => "margin",
            Self::Breaker => "breaker",
            Self::FailureRate => "failure_rate",
            Self::SlowRate => "slow_rate",
            Self::Slow => "slow",
            Self::Window => "window",
            Self::MinCalls => "min_calls",
            Self::Consecutive => "consecutive",
            Self::OpenFor => "open_for",
            Self::MaxOpenFor => "max_open_for",
            Self::Probes => "probes",
            Self::Reject => "reject",
            Self::Classify => "classify",
            Self::Capacity => "capacity",
            Self::Spare => "spare",
            Self::Replicas => "replicas",
            Self::Crate => "crate",
        }
    }

    /// What to write, for the end of an error.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Name => "name = \"report\"",
            Self::Max => "max = 4",
            Self::Queue => "queue = 8",
            Self::Wait => "wait = 25ms",
            Self::Reserve => "reserve = 2",
            Self::PerKey => "per_key = 3",
            Self::Measured => "measured(rate = 40, mean = 80ms)",
            Self::Rate => "rate = 40",
            Self::Mean => "mean = 80ms",
            Self::Shed => "shed = 1%",
            Self::Status => "status = 429",
            Self::Timeout => "timeout = 500ms",
            Self::Deadline => "deadline = 3s",
            Self::Margin => "margin = 150ms",
            Self::Breaker => "breaker(failure_rate = 50%, open_for = 30s)",
            Self::FailureRate => "failure_rate = 50%",
            Self::SlowRate => "slow_rate = 50%",
            Self::Slow => "slow = 2s",
            Self::Window => "window = 10s",
            Self::MinCalls => "min_calls = 20",
            Self::Consecutive => "consecutive = 5",
            Self::OpenFor => "open_for = 30s",
            Self::MaxOpenFor => "max_open_for = 5m",
            Self::Probes => "probes = 2",
            Self::Reject => "reject = to_my_error",
            Self::Classify => "classify = verdict",
            Self::Capacity => "capacity = 30",
            Self::Spare => "spare = 3",
            Self::Replicas => "replicas = 4",
            Self::Crate => "crate = ::my_facade::bulkhead",
        }
    }

    pub(crate) fn takes(self) -> Takes {
        match self {
            Self::Name => Takes::Text,
            Self::Max
            | Self::Queue
            | Self::Reserve
            | Self::PerKey
            | Self::Status
            | Self::MinCalls
            | Self::Consecutive
            | Self::Probes
            | Self::Capacity
            | Self::Spare
            | Self::Replicas => Takes::Count,
            Self::Rate => Takes::Rate,
            Self::Wait
            | Self::Mean
            | Self::Timeout
            | Self::Deadline
            | Self::Margin
            | Self::Slow
            | Self::Window
            | Self::OpenFor
            | Self::MaxOpenFor => Takes::Duration,
            Self::Shed | Self::FailureRate | Self::SlowRate => Takes::Percentage,
            Self::Reject | Self::Classify => Takes::Function,
            Self::Crate => Takes::Path,
            Self::Measured => Takes::List(Attribute::Measured),
            Self::Breaker => Takes::List(Attribute::Breaker),
        }
    }

    /// The list that is written in place of `= value`.
    pub(crate) fn inside(self) -> Option<Attribute> {
        match self.takes() {
            Takes::List(list) => Some(list),
            _ => None,
        }
    }

    /// The key behind which `list` stands, if it is one inside of another.
    pub(crate) fn of_list(list: Attribute) -> Option<Self> {
        match list {
            Attribute::Measured => Some(Self::Measured),
            Attribute::Breaker => Some(Self::Breaker),
            Attribute::Bulkhead | Attribute::Partition | Attribute::Dependency => None,
        }
    }

    /// `key = …` or `key(…)`.
    pub(crate) fn form(self) -> String {
        match self.inside() {
            Some(_) => format!("{}(…)", self.as_str()),
            None => format!("{} = …", self.as_str()),
        }
    }

    /// What its value says: the end of the sentence "missing `key`: write `key = …`".
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Name => "; it is the partition's label in metrics and errors",
            Self::Max => " for at most 4 calls at a time",
            Self::Rate => "; it is the calls a second that were measured in this process at peak",
            Self::Mean => "; it is the mean time of a call, as it was measured",
            Self::Capacity => {
                "; it is the calls that the dependency can take at once, from everybody"
            }
            Self::Replicas => "; it is the most processes that can run at once, surge included",
            _ => "",
        }
    }
}

impl Attribute {
    pub(crate) const ALL: [Self; 5] = [
        Self::Partition,
        Self::Bulkhead,
        Self::Dependency,
        Self::Measured,
        Self::Breaker,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bulkhead => "#[bulkhead]",
            Self::Partition => "#[partition]",
            Self::Measured => "measured",
            Self::Breaker => "breaker",
            Self::Dependency => "#[dependency]",
        }
    }

    /// The attribute of an item that it is, or stands in; `…` where that is one of several.
    pub(crate) fn on_item(self) -> &'static str {
        match self {
            Self::Bulkhead => "bulkhead",
            Self::Partition | Self::Measured => "partition",
            Self::Breaker => "…",
            Self::Dependency => "dependency",
        }
    }

    pub(crate) fn keys(self) -> &'static [Key] {
        use Key::{
            Breaker, Capacity, Classify, Consecutive, Crate, Deadline, FailureRate, Margin, Max,
            MaxOpenFor, Mean, Measured, MinCalls, Name, OpenFor, PerKey, Probes, Queue, Rate,
            Reject, Replicas, Reserve, Shed, Slow, SlowRate, Spare, Status, Timeout, Wait, Window,
        };
        match self {
            Self::Bulkhead => &[
                Name, Max, Queue, Wait, Timeout, Deadline, Margin, Breaker, Reject, Classify, Crate,
            ],
            Self::Partition => &[
                Name, Max, Queue, Wait, Reserve, PerKey, Measured, Breaker, Status, Crate,
            ],
            Self::Measured => &[Rate, Mean, Shed],
            Self::Breaker => &[
                FailureRate,
                SlowRate,
                Window,
                MinCalls,
                Consecutive,
                Slow,
                OpenFor,
                MaxOpenFor,
                Probes,
            ],
            Self::Dependency => &[Capacity, Spare, Replicas, Crate],
        }
    }

    /// The keys that have to be there.
    pub(crate) fn compulsory(self) -> &'static [Key] {
        match self {
            Self::Bulkhead | Self::Partition => &[Key::Name, Key::Max],
            Self::Measured => &[Key::Rate, Key::Mean],
            Self::Breaker => &[],
            Self::Dependency => &[Key::Capacity, Key::Replicas],
        }
    }

    /// The whole list with what has to be there.
    pub(crate) fn example(self) -> String {
        let (head, tail) = match self {
            Self::Measured | Self::Breaker => (self.as_str(), ""),
            _ => (self.as_str().trim_end_matches(']'), "]"),
        };
        let keys: Vec<_> = self.compulsory().iter().map(|key| key.example()).collect();
        format!("{head}({}){tail}", keys.join(", "))
    }

    /// The key that `ident` names.
    pub(crate) fn key(self, ident: &Ident) -> Result<Key, Unknown> {
        let found = ident.unraw().to_string();
        let spelled = |key: &&Key| key.as_str() == found;
        match self.keys().iter().find(spelled) {
            Some(key) => Ok(*key),
            None => Err(unknown::key(self, ident, &found)),
        }
    }
}
