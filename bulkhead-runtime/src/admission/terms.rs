//! What a gate goes by: the numbers of its policy, as they hold now, and its mode; and how closely it is watched.

use std::time::Duration;

use super::word::CEILING;
use crate::mode::Mode;
use crate::policy::Policy;

/// What holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) max: u32,
    pub(crate) queue: u32,
    pub(crate) wait: Duration,
    pub(crate) mode: Mode,
}

/// What somebody wants to be told of that the usual call passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watch {
    Nothing,
    /// When the last permit is taken, and when one is free again.
    Saturation,
    /// The same, and every admission.
    Admissions,
}

impl Terms {
    pub(super) const fn of(policy: Policy) -> Self {
        Self {
            max: policy.max(),
            queue: policy.queue(),
            wait: policy.wait(),
            mode: Mode::Enforce,
        }
    }

    /// How many may be in flight before somebody has to look closer: at the one that finds no room; at the one
    /// that takes the last permit, where somebody is to be told; at all of them, where somebody is to be told of
    /// all. Off is the gate at its plainest, and nobody is told anything.
    pub(super) const fn limit(self, watch: Watch) -> u32 {
        match (self.mode, watch) {
            (Mode::Off, _) => CEILING,
            (_, Watch::Nothing) => self.max,
            (_, Watch::Saturation) => self.max - 1,
            (_, Watch::Admissions) => 0,
        }
    }

    /// For how many there is room. Whoever observes lets everybody in, and counts those for whom there would
    /// have been none.
    pub(super) const fn permits(self) -> u32 {
        match self.mode {
            Mode::Enforce | Mode::Observe => self.max,
            Mode::Off => CEILING,
        }
    }

    /// How many in flight are told of as saturation, if anybody is to be told.
    pub(super) const fn saturation(self, watch: Watch) -> Option<u32> {
        match (self.mode, watch) {
            (Mode::Off, _) | (_, Watch::Nothing) => None,
            _ => Some(self.max),
        }
    }

    /// How many may be in flight before those that wait go on waiting: where nobody is rejected, nobody waits.
    pub(super) const fn room(self) -> u32 {
        match self.mode {
            Mode::Enforce => self.max,
            Mode::Observe | Mode::Off => CEILING,
        }
    }

    /// Places in the queue. Where nobody is rejected nobody waits, and the queue is never full either: full
    /// queues are rejected for without a closer look.
    pub(super) const fn places(self) -> u32 {
        match self.mode {
            Mode::Enforce => self.queue,
            Mode::Observe | Mode::Off => u32::MAX,
        }
    }
}
