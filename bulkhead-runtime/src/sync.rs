//! The only door to atomics and locks.
//!
//! Everything that two threads share goes through here, so that a model checker can stand in for
//! the real thing: under `cfg(bulkhead_loom)`, in tests of this crate, it is loom. The cfg is our own,
//! since `cfg(loom)` would switch tokio as well.

#![expect(clippy::disallowed_types, reason = "this module is the door")]

#[cfg(all(test, bulkhead_loom))]
use loom::sync as these;
#[cfg(not(all(test, bulkhead_loom)))]
use std::sync as these;

use std::sync::MutexGuard as StdGuard;
use std::sync::atomic::{AtomicBool, AtomicU32 as Unexplored};

pub(crate) use these::MutexGuard;
pub(crate) use these::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// A lock that does not know poisoning.
///
/// Nothing of the user's runs while one of our locks is held: wakers are cloned, called and dropped
/// outside, and nothing that has a lock in it is shown by `Debug`. So a panic cannot leave the guarded state half-changed, and a poisoned lock would only
/// turn one panic into many.
#[derive(Default)]
pub(crate) struct Mutex<T>(these::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(these::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The same for a static, which loom cannot stand in for: it builds its own at run time.
pub(crate) struct StaticMutex<T>(std::sync::Mutex<T>);

impl<T> StaticMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> StdGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A flag for a static. Those that look at it look at nothing else by it, but for what a lock protects.
pub(crate) struct StaticFlag(AtomicBool);

impl StaticFlag {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, is_set: bool) {
        self.0.store(is_set, Ordering::Relaxed);
    }
}

/// Keeps what it holds on a cache line of its own, so that rejections counted by some cores do not
/// slow down the admissions of others.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct OwnLine<T>(pub(crate) T);

impl<T> std::ops::Deref for OwnLine<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A number for statistics only. No decision hangs on it, so loom need not explore it.
#[derive(Default)]
pub(crate) struct Highest(Unexplored);

impl Highest {
    /// Costs a look where `number` is no higher than what was.
    #[inline]
    pub(crate) fn raise(&self, number: u32) {
        if number > self.get() {
            self.0.fetch_max(number, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Begins anew at `number`; tells what was.
    pub(crate) fn restart(&self, number: u32) -> u32 {
        self.0.swap(number, Ordering::Relaxed)
    }
}
