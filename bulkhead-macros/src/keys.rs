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
    Retry,
    Idempotent,
    Attempts,
    Backoff,
    Cap,
    When,
    Fallback,
    Settle,
    RetryBudget,
    Ratio,
    Min,
    /// `window` of a budget, which is not that of a breaker.
    BudgetWindow,
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
    /// A call, which is made only when it is needed.
    Call,
    Path,
    /// Nothing: the word says it all.
    Nothing,
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
    /// `retry(…)` inside of `#[bulkhead]`.
    Retry,
    /// `retry_budget(…)` inside of `#[partition]`.
    RetryBudget,
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
            Self::Window | Self::BudgetWindow => "window",
            Self::MinCalls => "min_calls",
            Self::Consecutive => "consecutive",
            Self::OpenFor => "open_for",
            Self::MaxOpenFor => "max_open_for",
            Self::Probes => "probes",
            Self::Retry => "retry",
            Self::Idempotent => "idempotent",
            Self::Attempts => "attempts",
            Self::Backoff => "backoff",
            Self::Cap => "cap",
            Self::When => "when",
            Self::Fallback => "fallback",
            Self::Settle => "settle",
            Self::RetryBudget => "retry_budget",
            Self::Ratio => "ratio",
            Self::Min => "min",
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
            Self::Window | Self::BudgetWindow => "window = 10s",
            Self::MinCalls => "min_calls = 20",
            Self::Consecutive => "consecutive = 5",
            Self::OpenFor => "open_for = 30s",
            Self::MaxOpenFor => "max_open_for = 5m",
            Self::Probes => "probes = 2",
            Self::Retry => "retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient)",
            Self::Idempotent => "idempotent",
            Self::Attempts => "attempts = 3",
            Self::Backoff => "backoff = 40ms",
            Self::Cap => "cap = 1s",
            Self::When => "when = is_transient",
            Self::Fallback => "fallback = cached(error)",
            Self::Settle => "settle",
            Self::RetryBudget => "retry_budget(ratio = 20%, min = 3)",
            Self::Ratio => "ratio = 20%",
            Self::Min => "min = 3",
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
            | Self::Attempts
            | Self::Min
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
            | Self::MaxOpenFor
            | Self::Backoff
            | Self::Cap
            | Self::BudgetWindow => Takes::Duration,
            Self::Shed | Self::FailureRate | Self::SlowRate | Self::Ratio => Takes::Percentage,
            Self::Reject | Self::Classify | Self::When => Takes::Function,
            Self::Fallback => Takes::Call,
            Self::Idempotent | Self::Settle => Takes::Nothing,
            Self::Crate => Takes::Path,
            Self::Measured => Takes::List(Attribute::Measured),
            Self::Breaker => Takes::List(Attribute::Breaker),
            Self::Retry => Takes::List(Attribute::Retry),
            Self::RetryBudget => Takes::List(Attribute::RetryBudget),
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
            Attribute::Retry => Some(Self::Retry),
            Attribute::RetryBudget => Some(Self::RetryBudget),
            Attribute::Bulkhead | Attribute::Partition | Attribute::Dependency => None,
        }
    }

    /// Whether it is a word without a value.
    pub(crate) fn is_word(self) -> bool {
        self.takes() == Takes::Nothing
    }

    /// `key = …`, `key(…)` or `key`.
    pub(crate) fn form(self) -> String {
        match self.takes() {
            Takes::List(_) => format!("{}(…)", self.as_str()),
            Takes::Nothing => self.as_str().to_owned(),
            _ => format!("{} = …", self.as_str()),
        }
    }

    /// What its value says: the end of the sentence "missing `key`: write `key = …`".
    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Name => "; it is the partition's label in metrics and errors",
            Self::Max => " for at most 4 calls at a time",
            Self::Rate => "; it is the calls a second that were measured in this process at peak",
            Self::Mean => "; it is the mean time of a call, as it was measured",
            Self::Attempts => "; the first call counts",
            Self::Backoff => "; it is the longest wait before the first retry",
            Self::When => "; it says of which errors another try may go better",
            Self::Capacity => {
                "; it is the calls that the dependency can take at once, from everybody"
            }
            Self::Replicas => "; it is the most processes that can run at once, surge included",
            _ => "",
        }
    }
}

impl Attribute {
    pub(crate) const ALL: [Self; 7] = [
        Self::Partition,
        Self::Bulkhead,
        Self::Dependency,
        Self::Measured,
        Self::Breaker,
        Self::Retry,
        Self::RetryBudget,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bulkhead => "#[bulkhead]",
            Self::Partition => "#[partition]",
            Self::Measured => "measured",
            Self::Breaker => "breaker",
            Self::Retry => "retry",
            Self::RetryBudget => "retry_budget",
            Self::Dependency => "#[dependency]",
        }
    }

    /// The attribute of an item that it is, or stands in; `…` where that is one of several.
    pub(crate) fn on_item(self) -> &'static str {
        match self {
            Self::Bulkhead | Self::Retry => "bulkhead",
            Self::Partition | Self::Measured | Self::RetryBudget => "partition",
            Self::Breaker => "…",
            Self::Dependency => "dependency",
        }
    }

    pub(crate) fn keys(self) -> &'static [Key] {
        use Key::{
            Attempts, Backoff, Breaker, BudgetWindow, Cap, Capacity, Classify, Consecutive, Crate,
            Deadline, FailureRate, Fallback, Idempotent, Margin, Max, MaxOpenFor, Mean, Measured,
            Min, MinCalls, Name, OpenFor, PerKey, Probes, Queue, Rate, Ratio, Reject, Replicas,
            Reserve, Retry, RetryBudget, Settle, Shed, Slow, SlowRate, Spare, Status, Timeout,
            Wait, When, Window,
        };
        match self {
            Self::Bulkhead => &[
                Name, Max, Queue, Wait, Timeout, Deadline, Margin, Breaker, Retry, Fallback,
                Settle, Reject, Classify, Crate,
            ],
            Self::Partition => &[
                Name,
                Max,
                Queue,
                Wait,
                Reserve,
                PerKey,
                Measured,
                Breaker,
                RetryBudget,
                Status,
                Crate,
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
            Self::Retry => &[Idempotent, Attempts, Backoff, Cap, When],
            Self::RetryBudget => &[Ratio, Min, BudgetWindow],
            Self::Dependency => &[Capacity, Spare, Replicas, Crate],
        }
    }

    /// The keys that have to be there.
    pub(crate) fn compulsory(self) -> &'static [Key] {
        match self {
            Self::Bulkhead | Self::Partition => &[Key::Name, Key::Max],
            Self::Measured => &[Key::Rate, Key::Mean],
            Self::Breaker | Self::RetryBudget => &[],
            Self::Retry => &[Key::Idempotent, Key::Attempts, Key::Backoff, Key::When],
            Self::Dependency => &[Key::Capacity, Key::Replicas],
        }
    }

    /// The whole list with what has to be there.
    pub(crate) fn example(self) -> String {
        let (head, tail) = match Key::of_list(self) {
            Some(_) => (self.as_str(), ""),
            None => (self.as_str().trim_end_matches(']'), "]"),
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
