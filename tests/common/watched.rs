//! What the tests of functions under a breaker share.

use bulkhead_runtime::{Breaker, BulkheadError, Partition, Reason, partition};

/// How a call of these tests ends: as its body says, or as the library does.
#[derive(Debug)]
pub(crate) enum Failed {
    Theirs,
    Ours(BulkheadError),
}

impl From<BulkheadError> for Failed {
    fn from(error: BulkheadError) -> Self {
        Self::Ours(error)
    }
}

impl Failed {
    #[track_caller]
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Ours(error) => error.reason(),
            Self::Theirs => panic!("the body ran"),
        }
    }
}

pub(crate) fn find(name: &str) -> &'static Partition {
    partition(name).expect("it is declared")
}

/// The breaker of the only function of that name.
#[track_caller]
pub(crate) fn of(partition: &Partition, function: &str) -> &'static Breaker {
    let is_it = |breaker: &&Breaker| {
        breaker
            .function()
            .is_some_and(|path| path.ends_with(function))
    };
    let found: Vec<_> = partition.breakers().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{function}: {found:?}");
    found[0]
}

/// Calls, failures and slow calls in its window.
pub(crate) fn window(breaker: &Breaker) -> (u64, u64, u64) {
    let seen = breaker.snapshot();
    (seen.calls, seen.failures, seen.slow)
}
