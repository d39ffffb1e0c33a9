//! A call that is under way with or without a permit.

use super::Live;

/// A call that may have several attempts, or a fallback. Dropped, it is over.
#[must_use = "dropping it says that the call is over"]
pub(crate) struct Ongoing(&'static Live);

impl Live {
    /// Such a call begins; what it returns ends it.
    pub(crate) fn begin(&'static self) -> Ongoing {
        self.aftermath().begin();
        Ongoing(self)
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        let Self(live) = *self;
        live.aftermath().end();
        live.may_be_idle();
    }
}
