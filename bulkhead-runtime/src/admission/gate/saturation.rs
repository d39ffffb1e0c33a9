//! The gate as those see it that are told when its last permit is taken and when one is free again; and who they are.
//!
//! Such a spell is an *episode*. It is open while the word says so, and only [`Gate::mark`] changes that, under
//! the lock: so episodes of one gate never overlap, and each that begins ends. Two orders make it safe that
//! the usual call knows nothing of it:
//!
//! * *Taking the last permit.* The limit is one less than `max`, so whoever makes it `max` in flight holds the
//!   lock, and marks before it unlocks. A release in between has not seen the flag, but then the mark sees
//!   the release: no more than a moment of saturation goes unnoticed that was over before anybody looked.
//! * *A release against the mark.* The flag is raised in an exchange on a word without room. Whoever
//!   releases afterwards finds it in the word that it leaves behind, goes to the lock, and marks.

use std::time::Duration;

use super::{Gate, Ledger};
use crate::admission::word::Word;
use crate::time::{self, Instant};

/// What became of the saturation of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saturation {
    /// The last permit was taken.
    Began { episode: u64 },
    /// A permit is free again.
    Ended { episode: u64, after: Duration },
}

/// Who is told, outside the lock.
pub(crate) trait Watcher: Sync {
    fn saturation(&'static self, saturation: Saturation);

    /// The last one has left a closed gate. It may be told more than once, and somebody may be in again.
    fn emptied(&'static self);
}

/// The episodes of one gate.
pub(super) struct Episodes {
    watcher: &'static dyn Watcher,
    /// How many have begun.
    begun: u64,
    /// When the one began that is open.
    open_since: Option<Instant>,
}

/// What is to be told, if anything, once the lock is free.
#[must_use = "nobody is told"]
pub(super) struct Notice {
    watcher: &'static dyn Watcher,
    saturation: Option<Saturation>,
    is_emptied: bool,
}

impl Notice {
    /// Tells as well that the gate of this word is empty, where somebody may wait for that.
    pub(super) fn with_empty(self, word: Word) -> Self {
        Self {
            is_emptied: word.is_closed() && word.is_empty(),
            ..self
        }
    }

    pub(super) fn tell(self) {
        if let Some(saturation) = self.saturation {
            self.watcher.saturation(saturation);
        }
        if self.is_emptied {
            self.watcher.emptied();
        }
    }
}

impl Episodes {
    pub(super) const fn new(watcher: &'static dyn Watcher) -> Self {
        Self {
            watcher,
            begun: 0,
            open_since: None,
        }
    }

    /// One begins, or the one that is open ends.
    fn turn_over(&mut self) -> Saturation {
        let now = time::now();
        if let Some(since) = self.open_since.take() {
            Saturation::Ended {
                episode: self.begun,
                after: now.saturating_duration_since(since),
            }
        } else {
            self.begun += 1;
            self.open_since = Some(now);
            Saturation::Began {
                episode: self.begun,
            }
        }
    }
}

impl Gate {
    /// Makes the word say whether it is saturated, where anybody wants to know. Whoever may have taken or freed
    /// a permit under the lock does this before it unlocks.
    pub(super) fn mark(&self, ledger: &mut Ledger) -> Notice {
        Notice {
            watcher: ledger.episodes.watcher,
            saturation: self.mark_saturation(ledger),
            is_emptied: false,
        }
    }

    fn mark_saturation(&self, ledger: &mut Ledger) -> Option<Saturation> {
        let all = ledger.terms.saturation(ledger.watch);
        let mut word = self.word();
        loop {
            let is_saturated = all.is_some_and(|max| !word.has_room(max));
            if word.is_saturated() == is_saturated {
                return None;
            }
            match self.exchange(word, word.with_saturated(is_saturated)) {
                Ok(()) => return Some(ledger.episodes.turn_over()),
                Err(changed) => word = changed,
            }
        }
    }

    /// The episode that is open.
    pub(crate) fn episode(&self) -> Option<u64> {
        let Ledger { episodes, .. } = &*self.ledger.lock();
        episodes.open_since.map(|_| episodes.begun)
    }
}

#[cfg(test)]
#[cfg(not(bulkhead_loom))]
mod tests {
    use super::*;
    use crate::admission::terms::Watch;
    use crate::mode::Mode;
    use crate::policy::Policy;

    struct Nobody;

    impl Watcher for Nobody {
        fn saturation(&'static self, saturation: Saturation) {
            panic!("told of {saturation:?}");
        }

        fn emptied(&'static self) {
            panic!("told that it is empty, and it is not closed");
        }
    }

    struct Anybody;

    impl Watcher for Anybody {
        fn saturation(&'static self, _: Saturation) {}
        fn emptied(&'static self) {}
    }

    #[test]
    fn where_nobody_listens_there_is_never_a_flag_and_every_permit_is_taken_at_once() {
        let gate = Gate::new(Policy::new(3), &Nobody);
        let all: Vec<_> = (0..3).map(|_| gate.enter_at_once()).collect();
        assert!(all.iter().all(Option::is_some), "without a closer look");
        gate.try_enter().expect_err("it is full");
        for max in [1, 5, 2] {
            gate.change(|terms| terms.max = max);
            gate.hand_over();
            assert!(!gate.word().is_saturated());
        }
        for mode in [Mode::Observe, Mode::Off, Mode::Enforce] {
            gate.change(|terms| terms.mode = mode);
            gate.hand_over();
            assert!(!gate.word().is_saturated());
        }
        drop(all);
        assert!(!gate.word().is_saturated() && gate.episode().is_none());
    }

    #[test]
    fn only_the_last_permit_is_looked_at_more_closely() {
        let gate = Gate::new(Policy::new(3), &Anybody);
        gate.watch(Watch::Saturation);
        let _two = [(); 2].map(|()| gate.enter_at_once().expect("two of three"));
        assert!(gate.enter_at_once().is_none(), "the third is the last");
        assert!(gate.reject_at_once().is_none(), "and it is free");
        let last = gate.try_enter().expect("it is free");
        assert!(gate.word().is_saturated());
        assert!(gate.reject_at_once().is_some(), "now it is full");
        drop(last);
        assert!(!gate.word().is_saturated());
    }

    #[test]
    fn all_are_looked_at_where_all_are_to_be_told_of() {
        let gate = Gate::new(Policy::new(2), &Anybody);
        gate.watch(Watch::Admissions);
        assert!(gate.enter_at_once().is_none(), "it would not be told of");
        assert!(gate.reject_at_once().is_none(), "both are free");
        let both = [(); 2].map(|()| gate.try_enter().expect("there are two"));
        gate.try_enter().expect_err("there are no more");
        assert_eq!(gate.tally().full, 1);
        drop(both);
        gate.change(|terms| terms.mode = Mode::Off);
        assert!(
            gate.enter_at_once().is_some(),
            "off is the gate at its plainest"
        );
    }
}
