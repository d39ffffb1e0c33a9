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
    Reject,
    Classify,
    Capacity,
    Spare,
    Replicas,
    Crate,
}

/// The attribute whose keys are being read, or the list inside of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    Bulkhead,
    Partition,
    /// `measured(…)` inside of `#[partition]`.
    Measured,
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
            Self::Reject => "reject = to_my_error",
            Self::Classify => "classify = verdict",
            Self::Capacity => "capacity = 30",
            Self::Spare => "spare = 3",
            Self::Replicas => "replicas = 4",
            Self::Crate => "crate = ::my_facade::bulkhead",
        }
    }

    /// The list that is written in place of `= value`.
    pub(crate) fn inside(self) -> Option<Attribute> {
        (self == Self::Measured).then_some(Attribute::Measured)
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
    pub(crate) const ALL: [Self; 4] = [
        Self::Partition,
        Self::Bulkhead,
        Self::Dependency,
        Self::Measured,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bulkhead => "#[bulkhead]",
            Self::Partition => "#[partition]",
            Self::Measured => "measured",
            Self::Dependency => "#[dependency]",
        }
    }

    /// The attribute of an item that it is, or stands in.
    pub(crate) fn on_item(self) -> &'static str {
        match self {
            Self::Bulkhead => "bulkhead",
            Self::Partition | Self::Measured => "partition",
            Self::Dependency => "dependency",
        }
    }

    pub(crate) fn keys(self) -> &'static [Key] {
        use Key::{
            Capacity, Classify, Crate, Max, Mean, Measured, Name, PerKey, Queue, Rate, Reject,
            Replicas, Reserve, Shed, Spare, Status, Timeout, Wait,
        };
        match self {
            Self::Bulkhead => &[Name, Max, Queue, Wait, Timeout, Reject, Classify, Crate],
            Self::Partition => &[
                Name, Max, Queue, Wait, Reserve, PerKey, Measured, Status, Crate,
            ],
            Self::Measured => &[Rate, Mean, Shed],
            Self::Dependency => &[Capacity, Spare, Replicas, Crate],
        }
    }

    /// The two keys that have to be there.
    pub(crate) fn compulsory(self) -> [Key; 2] {
        match self {
            Self::Bulkhead | Self::Partition => [Key::Name, Key::Max],
            Self::Measured => [Key::Rate, Key::Mean],
            Self::Dependency => [Key::Capacity, Key::Replicas],
        }
    }

    /// The whole list with what has to be there.
    pub(crate) fn example(self) -> String {
        let (head, tail) = match self {
            Self::Measured => (self.as_str(), ""),
            _ => (self.as_str().trim_end_matches(']'), "]"),
        };
        let [first, second] = self.compulsory().map(Key::example);
        format!("{head}({first}, {second}){tail}")
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
