//! Who waits until nothing of a closed partition is under way any more.
//!
//! One list for all partitions: a shutdown waits for all of them at once, and for those that are made meanwhile.
//! Whoever waits puts its waker here and *then* looks at what it waits for; whatever ends, ends first and *then* wakes
//! all of them, who look again. So nothing can end between a look and its waker unnoticed. Nobody's waker is taken out
//! for that: a second one that ends meanwhile would find none, and rely on the first to come that far.

use std::mem;
use std::sync::Arc;
use std::task::Waker;

use crate::foreign::{drop_harmlessly, harmless};
use crate::sync::StaticMutex;

static ALL: StaticMutex<All> = StaticMutex::new(All {
    last: 0,
    wakers: Vec::new(),
});

struct All {
    last: u64,
    wakers: Vec<(u64, Arc<Waker>)>,
}

/// Something of a closed partition has ended, and it may have been the last.
///
/// Wakes, so no lock may be held.
#[cold]
pub(crate) fn look_again() {
    let wakers = ALL.lock().wakers.clone();
    for (_, waker) in wakers {
        harmless(|| waker.wake_by_ref());
        // Perhaps the last that holds one who does not wait any more.
        drop_harmlessly(waker);
    }
}

/// One that waits; it does not any more once it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Onlooker(Option<u64>);

impl Onlooker {
    /// Has `waker` woken when something ends from here on. To be called before each look.
    pub(crate) fn watch(&mut self, waker: &Waker) {
        // A waker is foreign code: cloned before the lock, and dropped after it.
        let fresh = Arc::new(waker.clone());
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

impl Drop for Onlooker {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        let mut all = ALL.lock();
        let found = all.wakers.iter().position(|(known, _)| *known == id);
        let stale = found.map(|at| all.wakers.swap_remove(at));
        drop(all);
        drop_harmlessly(stale);
    }
}

#[cfg(test)]
#[cfg(not(bulkhead_loom))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Other(AtomicBool);

    impl Wake for Other {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// Something else ends while it is woken.
    struct Ends {
        other: Arc<Other>,
        is_first: AtomicBool,
        is_other_woken: AtomicBool,
    }

    impl Wake for Ends {
        fn wake(self: Arc<Self>) {
            if self.is_first.swap(false, Ordering::SeqCst) {
                look_again();
                let is_woken = self.other.0.load(Ordering::SeqCst);
                self.is_other_woken.store(is_woken, Ordering::SeqCst);
            }
        }
    }

    #[test]
    fn what_ends_while_others_are_woken_wakes_all_of_them_itself() {
        let other = Arc::new(Other::default());
        let ends = Arc::new(Ends {
            other: Arc::clone(&other),
            is_first: AtomicBool::new(true),
            is_other_woken: AtomicBool::new(false),
        });
        let (mut first, mut second) = (Onlooker::default(), Onlooker::default());
        first.watch(&Arc::clone(&ends).into());
        second.watch(&other.into());
        look_again();
        assert!(
            ends.is_other_woken.load(Ordering::SeqCst),
            "it would have to wait for the one before it"
        );
    }
}
