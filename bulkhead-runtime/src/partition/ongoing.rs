//! A call that is under way with or without a permit.

use super::Live;
use crate::aftermath::Aftermath;
use crate::frame;

/// A call that may have several attempts, or a fallback. Dropped, it is over.
#[must_use = "dropping it says that the call is over"]
pub(crate) struct Ongoing {
    aftermath: &'static Aftermath,
    live: &'static Live,
}

impl Live {
    /// Such a call begins; what it returns ends it. `None` of one that comes from outside when it is closed already:
    /// nobody waits for that.
    pub(crate) fn begin(&'static self) -> Option<Ongoing> {
        let aftermath = self.aftermath();
        aftermath.begin();
        let ongoing = Ongoing {
            aftermath,
            live: self,
        };
        let is_late = self.gate.is_closed() && !frame::holds_permit();
        (!is_late).then_some(ongoing)
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.aftermath.end();
        self.live.may_be_idle();
    }
}
