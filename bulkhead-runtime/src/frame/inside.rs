//! What became of the calls inside of another, as far as its breakers must know: whether one was rejected, and
//! whether one was stopped by a deadline that the outer call had not set.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool as Flag, AtomicU64 as Unexplored, Ordering};

use super::due::Setter;

const NOBODY: u64 = u64::MAX;

thread_local! {
    static REJECTED: Cell<u32> = const { Cell::new(0) };
    /// The earliest of those that had set a deadline by which a call was stopped.
    static STOPPED: Cell<u64> = const { Cell::new(NOBODY) };
    /// How many calls are polled around this that want to know.
    static LISTENING: Cell<u32> = const { Cell::new(0) };
    /// Whether a task was spawned inside of one of those.
    static SPAWNED: Cell<bool> = const { Cell::new(false) };
    /// Of the tasks that were spawned inside of those.
    static NOTES: RefCell<Vec<Arc<Note>>> = const { RefCell::new(Vec::new()) };
    /// That of the task that is polled.
    static OWN_NOTE: RefCell<Option<Arc<Note>>> = const { RefCell::new(None) };
}

/// What ended in a task that was spawned inside of a call.
#[derive(Debug)]
pub(crate) struct Note {
    rejected: Flag,
    stopped: Unexplored,
    /// A task may be spawned by another.
    above: Option<Arc<Self>>,
}

impl Note {
    fn new(above: Option<Arc<Self>>) -> Self {
        Self {
            rejected: Flag::new(false),
            stopped: Unexplored::new(NOBODY),
            above,
        }
    }

    fn add(&self, rejected: bool, stopped: u64) {
        self.rejected.fetch_or(rejected, Ordering::Release);
        self.stopped.fetch_min(stopped, Ordering::Release);
        if let Some(above) = &self.above {
            above.add(rejected, stopped);
        }
    }
}

/// What has ended inside of a call.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    was_rejected: bool,
    /// By whose deadline, if any was stopped.
    stopped: Option<Setter>,
    /// Few calls spawn tasks.
    #[expect(
        clippy::box_collection,
        reason = "a call that has none is no larger for it"
    )]
    notes: Option<Box<Vec<Arc<Note>>>>,
}

impl Inside {
    /// Whether a guarded call inside was rejected.
    pub(crate) fn was_rejected(&self) -> bool {
        let noted = |note: &Arc<Note>| note.rejected.load(Ordering::Acquire);
        self.was_rejected || self.notes().any(noted)
    }

    /// Whether one was stopped by a deadline that `latest` or somebody before has set.
    pub(crate) fn was_stopped_by(&self, latest: Setter) -> bool {
        let noted = self.notes();
        let noted = noted.map(|note| Setter(note.stopped.load(Ordering::Acquire)));
        noted.chain(self.stopped).any(|setter| setter <= latest)
    }

    fn notes(&self) -> impl Iterator<Item = &Arc<Note>> {
        self.notes.iter().flat_map(|notes| notes.iter())
    }
}

/// What had ended on this thread when a poll began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    rejected: u32,
    stopped: u64,
    notes: usize,
}

impl Ended {
    /// A poll begins, whose call wants to know. To be ended once, by [`end`](Self::end): the thread counts those
    /// that listen.
    #[inline]
    pub(crate) fn listen() -> Self {
        let listening = LISTENING.get();
        LISTENING.with(|cell| cell.set(listening + 1));
        let stopped = STOPPED.get();
        if stopped != NOBODY {
            STOPPED.with(|cell| cell.set(NOBODY));
        }
        let notes = if listening > 0 {
            NOTES.with_borrow(Vec::len)
        } else {
            0
        };
        Self {
            rejected: REJECTED.get(),
            stopped,
            notes,
        }
    }

    /// The poll is over. Tells whether anything has ended inside, or was spawned: then [`note`](Self::note) it.
    #[inline]
    #[must_use = "what ended inside is forgotten unless it is noted"]
    pub(crate) fn end(self) -> bool {
        let listening = LISTENING.get();
        LISTENING.with(|cell| cell.set(listening.saturating_sub(1)));
        REJECTED.get() != self.rejected || STOPPED.get() != self.stopped || SPAWNED.get()
    }

    /// Adds what has changed since to what the call knows already.
    #[cold]
    pub(crate) fn note(self, inside: &mut Inside) {
        inside.was_rejected |= REJECTED.get() != self.rejected;
        let stopped = STOPPED.get();
        if stopped != NOBODY {
            let setter = Setter(stopped);
            inside.stopped = Some(inside.stopped.map_or(setter, |before| before.min(setter)));
        }
        STOPPED.with(|cell| cell.set(stopped.min(self.stopped)));
        NOTES.with_borrow_mut(|notes| {
            let new = notes.get(self.notes..).unwrap_or_default();
            if !new.is_empty() {
                inside.notes.get_or_insert_default().extend_from_slice(new);
            }
            if LISTENING.get() == 0 {
                notes.clear();
                SPAWNED.with(|cell| cell.set(false));
            }
        });
    }

    /// A call was rejected.
    #[inline]
    pub(crate) fn note_rejected() {
        REJECTED.set(REJECTED.get().wrapping_add(1));
    }

    /// One that was just rejected is nothing to those around it, so far: it has a fallback.
    #[cold]
    pub(crate) fn forget_rejected() {
        REJECTED.set(REJECTED.get().wrapping_sub(1));
    }

    /// A call was stopped by the deadline that holds.
    pub(crate) fn note_stopped(by: Setter) {
        STOPPED.set(STOPPED.get().min(by.0));
    }
}

/// For a task that is spawned here.
pub(super) fn note_for_a_task() -> Option<Arc<Note>> {
    let above = OWN_NOTE.with_borrow(Clone::clone);
    if LISTENING.get() == 0 {
        return above;
    }
    let note = Arc::new(Note::new(above));
    NOTES.with_borrow_mut(|notes| notes.push(Arc::clone(&note)));
    SPAWNED.set(true);
    Some(note)
}

/// Those that listen around this, set aside with their notes: whoever listens inside has notes of its own.
struct Aside {
    listening: u32,
    spawned: bool,
    notes: Vec<Arc<Note>>,
}

impl Aside {
    fn set() -> Self {
        Self {
            listening: LISTENING.replace(0),
            spawned: SPAWNED.replace(false),
            notes: NOTES.take(),
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        LISTENING.set(self.listening);
        SPAWNED.set(self.spawned);
        NOTES.set(mem::take(&mut self.notes));
    }
}

/// Runs what is no part of the call around it.
pub(super) fn apart<T>(run: impl FnOnce() -> T) -> T {
    struct Restored(u32, u64);

    impl Drop for Restored {
        fn drop(&mut self) {
            REJECTED.set(self.0);
            STOPPED.set(self.1);
        }
    }

    let _aside = Aside::set();
    let _restored = Restored(REJECTED.get(), STOPPED.get());
    run()
}

/// Polls a task that has a note.
pub(super) fn noting<T>(note: &Arc<Note>, poll: impl FnOnce() -> T) -> T {
    struct Noting<'n> {
        note: &'n Arc<Note>,
        before: Option<Arc<Note>>,
        rejected: u32,
        stopped: u64,
    }

    impl Drop for Noting<'_> {
        fn drop(&mut self) {
            let stopped = STOPPED.get();
            self.note.add(REJECTED.get() != self.rejected, stopped);
            STOPPED.set(stopped.min(self.stopped));
            OWN_NOTE.set(self.before.take());
        }
    }

    let _aside = Aside::set();
    let _noting = Noting {
        note,
        before: OWN_NOTE.replace(Some(Arc::clone(note))),
        rejected: REJECTED.get(),
        stopped: STOPPED.replace(NOBODY),
    };
    poll()
}
