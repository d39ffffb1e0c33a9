//! Who waits until nothing of a closed partition is under way any more.
//!
//! One list for all partitions: a shutdown waits for all of them at once, and for those that are made meanwhile. Whoever
//! waits puts its waker here and *then* looks at what it waits for; whatever ends, ends first and *then* wakes
//! all of them, who look again. So nothing can end between a look and its waker unnoticed.

use std::mem;
use std::task::Waker;

use crate::foreign::{drop_harmlessly, harmless};
use crate::sync::StaticMutex;

static ALL: StaticMutex<All> = StaticMutex::new(All {
    last: 0,
    wakers: Vec::new(),
});

struct All {
    last: u64,
    wakers: Vec<(u64, Waker)>,
}

/// Something of a closed partition has ended, and it may have been the last.
///
/// Wakes, so no lock may be held.
#[cold]
pub(crate) fn ended() {
    let wakers = mem::take(&mut ALL.lock().wakers);
    for (_, waker) in wakers {
        harmless(|| waker.wake());
    }
}

/// One that waits; it does not any more once it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Option<u64>);

impl Waiting {
    /// Has `waker` woken when something ends from here on. To be called before each look.
    pub(crate) fn wake(&mut self, waker: &Waker) {
        // A waker is foreign code: cloned before the lock, and dropped after it.
        let fresh = waker.clone();
        let mut all = ALL.lock();
        let id = *self.0.get_or_insert_with(|| {
            all.last += 1;
            all.last
        });
        let known = all.wakers.iter_mut().find(|(known, _)| *known == id);
        let stale = if let Some((_, kept)) = known {
            Some(mem::replace(kept, fresh))
        } else {
            all.wakers.push((id, fresh));
            None
        };
        drop(all);
        drop_harmlessly(stale);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        let mut all = ALL.lock();
        let found = all.wakers.iter().position(|(known, _)| *known == id);
        let stale = found.map(|at| all.wakers.swap_remove(at));
        drop(all);
        drop_harmlessly(stale);
    }
}
