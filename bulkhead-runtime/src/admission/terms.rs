//! What a gate goes by: the numbers of its policy, as they hold now, and its mode.

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

impl Terms {
    pub(super) const fn of(policy: Policy) -> Self {
        Self {
            max: policy.max(),
            queue: policy.queue(),
            wait: policy.wait(),
            mode: Mode::Enforce,
        }
    }

    /// How many may be in flight before somebody has to look closer. Whoever observes lets everybody in, and
    /// looks closer at those for whom there would have been no room.
    pub(super) const fn limit(self) -> u32 {
        match self.mode {
            Mode::Enforce | Mode::Observe => self.max,
            Mode::Off => CEILING,
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
