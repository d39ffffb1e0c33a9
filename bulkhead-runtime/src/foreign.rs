//! Code that is not ours and that may panic: wakers, and whoever listens.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs foreign code whose panic ends here; the panic hook has told of it.
///
/// What it threw is forgotten and not dropped, since that would be foreign code once more.
pub(crate) fn harmless(run: impl FnOnce()) {
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(run)) {
        mem::forget(thrown);
    }
}

/// Drops what is foreign.
///
/// A function that holds a permit must not let such a drop unwind: rustc does not drop a value that is
/// being returned when a local's destructor panics (rust-lang/rust#47949), and the permit were lost.
pub(crate) fn drop_harmlessly<T>(foreign: T) {
    harmless(|| drop(foreign));
}
