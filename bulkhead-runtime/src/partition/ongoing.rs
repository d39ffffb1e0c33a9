//! A call that is under way with or without a permit.

use super::Live;
use crate::aftermath::Aftermath;

/// A call that may have several attempts, or a fallback. Dropped, it is over.
#[must_use = "dropping it says that the call is over"]
pub(crate) struct Ongoing {
    aftermath: &'static Aftermath,
    live: &'static Live,
}

impl Live {
    /// Such a call begins; what it returns ends it.
    pub(crate) fn begin(&'static self) -> Ongoing {
        let aftermath = self.aftermath();
        aftermath.begin();
        Ongoing {
            aftermath,
            live: self,
        }
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.aftermath.end();
        self.live.may_be_idle();
    }
}
