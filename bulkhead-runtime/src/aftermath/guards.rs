//! What a call holds while it holds no permit, and what a body holds that settles: its drop ends it.

use std::task::Waker;

use super::{Aftermath, Sleepers, count};
use crate::foreign::drop_harmlessly;
use crate::sync::Ordering;

/// A call that backs off. Dropped, it is given up, unless it [goes on](Self::go_on).
#[must_use = "dropping it ends the backoff"]
pub(crate) struct BackingOff {
    pub(super) aftermath: &'static Aftermath,
    pub(super) number: u64,
    pub(super) goes_on: bool,
}

impl BackingOff {
    /// Leaves word how to wake it when the partition is closed: look whether it is, afterwards.
    pub(crate) fn watch(&self, waker: &Waker) {
        let known = |sleepers: &Sleepers| {
            let kept = sleepers.wakers.get(&self.number);
            kept.is_some_and(|kept| kept.will_wake(waker))
        };
        if known(&self.aftermath.sleepers.lock()) {
            return;
        }
        let fresh = waker.clone();
        let stale = self
            .aftermath
            .sleepers
            .lock()
            .wakers
            .insert(self.number, fresh);
        drop_harmlessly(stale);
    }

    /// The backoff is over, and the next attempt comes.
    pub(crate) fn go_on(mut self) {
        self.goes_on = true;
    }
}

impl Drop for BackingOff {
    fn drop(&mut self) {
        let Aftermath {
            sleepers,
            backing_off,
            given_up,
            ..
        } = self.aftermath;
        let waker = sleepers.lock().wakers.remove(&self.number);
        drop_harmlessly(waker);
        if !self.goes_on {
            count(given_up);
        }
        backing_off.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call that is in its fallback. Dropped, it has no answer, unless it has [said so](Self::end).
#[must_use = "dropping it ends the fallback"]
pub(crate) struct InFallback {
    pub(super) aftermath: &'static Aftermath,
    pub(super) is_answer: bool,
}

impl InFallback {
    /// It has returned, and that is an answer or not.
    pub(crate) fn end(mut self, is_answer: bool) {
        self.is_answer = is_answer;
    }
}

impl Drop for InFallback {
    fn drop(&mut self) {
        let Aftermath {
            in_fallback,
            answered,
            unanswered,
            ..
        } = self.aftermath;
        count(if self.is_answer { answered } else { unanswered });
        in_fallback.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that settles. Dropped, it has ended.
#[must_use = "dropping it says that the body has ended"]
pub(crate) struct Settling {
    pub(super) aftermath: &'static Aftermath,
    pub(super) number: u64,
}

impl Drop for Settling {
    fn drop(&mut self) {
        let mut settling = self.aftermath.settling.lock();
        settling.running.remove(&self.number);
    }
}
