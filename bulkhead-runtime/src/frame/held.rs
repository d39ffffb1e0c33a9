//! The partitions of which a permit is held around what is polled now.

use std::cell::RefCell;
use std::mem;
use std::sync::{Arc, Weak};

use crate::admission::Gate;
use crate::function::Function;
use crate::partition::Live;

thread_local! {
    /// From the outermost call to the innermost.
    static HELD: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// A permit that is held around what is polled, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) live: &'static Live,
    pub(crate) function: Option<&'static Function>,
}

/// Kept by a call for as long as it has its permit: tasks that were spawned inside may outlive it.
#[derive(Debug, Clone)]
pub(crate) struct Alive(Arc<()>);

#[derive(Debug)]
enum Entry {
    /// Around this poll, and so still held.
    Here { held: Held, alive: Option<Alive> },
    /// Around the poll that spawned this task.
    Elsewhere(Distant),
}

/// A permit that was held where a task was spawned.
#[derive(Debug, Clone)]
pub(super) struct Distant {
    held: Held,
    alive: Weak<()>,
}

impl Entry {
    fn holds(&self, gate: &Gate) -> Option<Held> {
        let held = match self {
            Self::Here { held, .. } => *held,
            Self::Elsewhere(Distant { held, alive }) => {
                (alive.strong_count() > 0).then_some(*held)?
            }
        };
        std::ptr::eq(&raw const held.live.gate, gate).then_some(held)
    }

    fn distant(&mut self) -> Distant {
        match self {
            Self::Here { held, alive } => {
                let Alive(alive) = alive.get_or_insert_with(|| Alive(Arc::new(())));
                Distant {
                    held: *held,
                    alive: Arc::downgrade(alive),
                }
            }
            Self::Elsewhere(distant) => distant.clone(),
        }
    }
}

/// Notes that a permit is held, until what it returns has ended or is dropped.
#[inline]
#[must_use = "the permit is noted until this is dropped; bind it to a name"]
pub(crate) fn hold(held: Held, alive: Option<Alive>) -> LetGo {
    HELD.with_borrow_mut(|all| all.push(Entry::Here { held, alive }));
    LetGo(1)
}

/// Whose permit of the same partition is held around what is polled now: the innermost.
pub(crate) fn holder(gate: &Gate) -> Option<Held> {
    let innermost = |all: &RefCell<Vec<Entry>>| {
        all.borrow()
            .iter()
            .rev()
            .find_map(|entry| entry.holds(gate))
    };
    // At the end of a thread it may be gone already.
    HELD.try_with(innermost).ok().flatten()
}

/// All that is held, for a task that is spawned here.
pub(super) fn distant() -> Box<[Distant]> {
    HELD.with_borrow_mut(|all| all.iter_mut().map(Entry::distant).collect())
}

/// Notes what was held where this task was spawned.
pub(super) fn hold_distant(held: &[Distant]) -> LetGo {
    HELD.with_borrow_mut(|all| all.extend(held.iter().cloned().map(Entry::Elsewhere)));
    LetGo(held.len())
}

/// Runs where nothing is held.
pub(super) fn apart<T>(run: impl FnOnce() -> T) -> T {
    struct Restored(Vec<Entry>);

    impl Drop for Restored {
        fn drop(&mut self) {
            HELD.set(mem::take(&mut self.0));
        }
    }

    let _restored = Restored(HELD.take());
    run()
}

/// Lets go of so many, also when the poll unwinds.
#[derive(Debug)]
pub(crate) struct LetGo(usize);

impl LetGo {
    /// Tells what the call has to keep for the tasks that were spawned inside.
    #[inline]
    pub(crate) fn end(mut self) -> Option<Alive> {
        self.0 = 0;
        match HELD.with_borrow_mut(Vec::pop) {
            Some(Entry::Here { alive, .. }) => alive,
            _ => None,
        }
    }
}

impl Drop for LetGo {
    #[inline]
    fn drop(&mut self) {
        if self.0 > 0 {
            HELD.with_borrow_mut(|all| all.truncate(all.len() - self.0));
        }
    }
}
