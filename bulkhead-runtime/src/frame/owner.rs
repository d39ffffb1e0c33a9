//! Whether what is polled now belongs to an attempt of a call that may try again.
//!
//! That call is the one owner of retries: three layers that tried three times each would make 27 attempts of one.

use std::cell::Cell;

thread_local! {
    static RETRYING: Cell<bool> = const { Cell::new(false) };
}

/// Whether somebody outside retries, so that nobody inside does.
pub(crate) fn is_retrying() -> bool {
    RETRYING.get()
}

/// An attempt of the owner is polled, until what it returns is dropped.
#[must_use = "the owner is noted until this is dropped; bind it to a name"]
pub(crate) fn retrying(is_owner: bool) -> Restored {
    Restored(RETRYING.replace(is_owner || is_retrying()))
}

/// Runs what is no part of the call around it.
pub(super) fn apart<T>(run: impl FnOnce() -> T) -> T {
    let _restored = Restored(RETRYING.replace(false));
    run()
}

/// Puts back what was, also when the poll unwinds.
#[derive(Debug)]
pub(crate) struct Restored(bool);

impl Drop for Restored {
    fn drop(&mut self) {
        RETRYING.set(self.0);
    }
}
