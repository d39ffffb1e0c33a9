//! Whether what is polled now is part of a call that holds a permit, of whatever partition.

use std::cell::Cell;

use crate::admission::Standing;

thread_local! {
    /// How many of the calls that are polled around this hold a permit.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether a permit is held around what is polled now.
#[inline]
pub(crate) fn holds_permit() -> bool {
    DEPTH.get() > 0
}

/// The same as a gate wants to know it.
pub(crate) fn standing() -> Standing {
    if holds_permit() {
        Standing::Inside
    } else {
        Standing::Outside
    }
}

/// A permit is held around what is polled from here on, until what it returns is dropped.
#[inline]
#[must_use = "a permit is held until this is dropped; bind it to a name"]
pub(crate) fn hold_permit() -> Back {
    // An instruction of every poll, and so is the way back.
    DEPTH.with(|depth| depth.set(depth.get().wrapping_add(1)));
    Back(())
}

/// Goes back, also when the poll unwinds.
#[derive(Debug)]
pub(crate) struct Back(());

impl Drop for Back {
    #[inline]
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get().wrapping_sub(1)));
    }
}

/// Runs what is no part of the calls around it.
pub(super) fn apart<T>(run: impl FnOnce() -> T) -> T {
    struct Restored(u32);

    impl Drop for Restored {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }

    let _restored = Restored(DEPTH.replace(0));
    run()
}
