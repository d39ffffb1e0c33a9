//! What the tests of functions with several attempts share.

use std::sync::atomic::{AtomicU32, Ordering};

use bulkhead_runtime::{BulkheadError, Partition, Snapshot};

use super::assert_idle;

/// How a call of these tests ends: as its body says, which is worth another attempt or not, or as the library does.
#[derive(Debug, Clone)]
pub(crate) enum Failed {
    /// The `n`th body that ran.
    Transient(u32),
    Lasting,
    Ours(BulkheadError),
}

impl Failed {
    /// That of the library.
    #[track_caller]
    pub(crate) fn ours(self) -> BulkheadError {
        match self {
            Self::Ours(error) => error,
            failed => panic!("the body has said so itself: {failed:?}"),
        }
    }
}

impl From<BulkheadError> for Failed {
    fn from(error: BulkheadError) -> Self {
        Self::Ours(error)
    }
}

/// Ours too, on purpose: no answer of it makes the library try again after a rejection.
pub(crate) fn is_transient(failed: &Failed) -> bool {
    !matches!(failed, Failed::Lasting)
}

/// Counts the bodies that ran.
#[derive(Debug)]
pub(crate) struct Ran(AtomicU32);

impl Ran {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// One more; tells which it is, from 1.
    pub(crate) fn one(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn times(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// No call is between its attempts, or in its fallback.
#[track_caller]
pub(crate) fn assert_nobody_is_left(s: &Snapshot) {
    assert_eq!(
        (s.backing_off, s.in_fallback),
        (0, 0),
        "somebody is left: {s:?}"
    );
}

/// Nothing is held, and nobody is left.
#[track_caller]
pub(crate) fn assert_rests(partition: &Partition) {
    assert_nobody_is_left(&partition.snapshot());
    assert_idle(partition);
}
