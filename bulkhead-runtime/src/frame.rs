//! What the current task carries from call to call: its deadline, the partitions that it holds, and what
//! became of the calls inside.
//!
//! A frame holds while a future is polled. Whoever narrows the deadline, or holds a permit of a partition
//! in whose queue a nested call could wait for it, says so around each poll of what runs inside; whatever
//! is called in there finds it. So futures that are polled side by side, as by `join!`, do not see each
//! other's, and a frame does not outlive a poll, whatever unwinds. The price is a thread-local write a poll,
//! and only for those that have something to say.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::admission::Gate;
use crate::function::Function;
use crate::partition::Live;
use crate::time::{self, Instant};

thread_local! {
    static DUE: Cell<Due> = const { Cell::new(Due::Never) };
    /// What is left from when somebody asks, while nobody has.
    static LEFT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static REJECTED: Cell<u32> = const { Cell::new(0) };
    static CUT_SHORT: Cell<u32> = const { Cell::new(0) };
    /// From the outermost call to the innermost.
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// A permit that is held around what is polled, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) live: &'static Live,
    pub(crate) function: Option<&'static Function>,
}

/// How many calls ended on this thread for reasons of our own. Compared before and after a poll, it tells
/// whether one of those inside did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) rejected: u32,
    /// By a deadline that they had inherited.
    pub(crate) cut_short: u32,
}

impl Ended {
    pub(crate) const NOTHING: Self = Self {
        rejected: 0,
        cut_short: 0,
    };

    #[inline]
    pub(crate) fn so_far() -> Self {
        Self {
            rejected: REJECTED.get(),
            cut_short: CUT_SHORT.get(),
        }
    }

    #[inline]
    pub(crate) fn note_rejected() {
        REJECTED.set(REJECTED.get().wrapping_add(1));
    }

    pub(crate) fn note_cut_short() {
        CUT_SHORT.set(CUT_SHORT.get().wrapping_add(1));
    }
}

/// When what is polled now has to be done.
#[derive(Debug, Clone, Copy)]
enum Due {
    Never,
    At(Instant),
    /// So long from when somebody asks.
    Unasked,
}

/// The deadline of what is polled now.
#[inline]
pub(crate) fn deadline() -> Option<Instant> {
    // Two instructions of every call that has none.
    if let Due::Never = DUE.get() {
        None
    } else {
        Some(ask())
    }
}

#[cold]
fn ask() -> Instant {
    if let Due::At(deadline) = DUE.get() {
        return deadline;
    }
    let deadline = time::after(time::now(), LEFT.get());
    DUE.set(Due::At(deadline));
    deadline
}

/// Whether a deadline holds, without asking for it.
#[inline]
pub(crate) fn is_due() -> bool {
    !matches!(DUE.get(), Due::Never)
}

/// Whether there is a deadline that nobody has asked for.
#[inline]
pub(crate) fn is_unasked() -> bool {
    matches!(DUE.get(), Due::Unasked)
}

/// Lets a deadline hold that is no later than the one which holds already, until what it returns is dropped.
#[inline]
#[must_use = "the deadline holds until this is dropped; bind it to a name"]
pub(crate) fn narrow(by: Instant) -> Restored {
    let narrower = deadline().map_or(by, |before| before.min(by));
    let before = DUE.get();
    DUE.with(|due| due.set(Due::At(narrower)));
    Restored(before)
}

/// Where no deadline holds: lets one hold that is `left` from when somebody first asks for it.
#[inline]
#[must_use = "the deadline holds until this is dropped; bind it to a name"]
pub(crate) fn allow(left: Duration) -> Restored {
    LEFT.with(|cell| cell.set(left));
    let before = DUE.get();
    DUE.with(|due| due.set(Due::Unasked));
    Restored(before)
}

/// The deadline of what is polled now, if somebody has asked for it or it was not left open.
#[inline]
pub(crate) fn asked() -> Option<Instant> {
    match DUE.get() {
        Due::At(deadline) => Some(deadline),
        Due::Never | Due::Unasked => None,
    }
}

/// Polls with a deadline that is no later than the one that holds already.
#[inline]
pub(crate) fn narrowed<T>(by: Instant, poll: impl FnOnce() -> T) -> T {
    let _restored = narrow(by);
    poll()
}

/// Notes that a permit is held, until what it returns is dropped.
#[inline]
#[must_use = "the permit is noted until this is dropped; bind it to a name"]
pub(crate) fn hold(held: Held) -> LetGo {
    HELD.with_borrow_mut(|all| all.push(held));
    LetGo(1)
}

/// Whose permit of the same partition is held around what is polled now: the innermost.
pub(crate) fn holder(gate: &Gate) -> Option<Held> {
    let same = |held: &&Held| std::ptr::eq(&raw const held.live.gate, gate);
    let innermost = |all: &RefCell<Vec<Held>>| all.borrow().iter().rev().find(same).copied();
    // At the end of a thread it may be gone already.
    HELD.try_with(innermost).ok().flatten()
}

/// A frame on its way to another task.
#[derive(Debug)]
pub(crate) struct Carried {
    deadline: Option<Instant>,
    held: Box<[Held]>,
}

impl Carried {
    /// That of what is polled now.
    pub(crate) fn current() -> Self {
        Self {
            deadline: deadline(),
            held: HELD.with_borrow(|all| all.as_slice().into()),
        }
    }

    /// Polls in it.
    pub(crate) fn around<T>(&self, poll: impl FnOnce() -> T) -> T {
        HELD.with_borrow_mut(|all| all.extend_from_slice(&self.held));
        let _let_go = LetGo(self.held.len());
        match self.deadline {
            Some(deadline) => narrowed(deadline, poll),
            None => poll(),
        }
    }
}

/// Puts back the deadline that was, also when the poll unwinds.
#[derive(Debug)]
pub(crate) struct Restored(Due);

impl Drop for Restored {
    #[inline]
    fn drop(&mut self) {
        DUE.with(|due| due.set(self.0));
    }
}

/// Lets go of so many, also when the poll unwinds.
#[derive(Debug)]
pub(crate) struct LetGo(usize);

impl Drop for LetGo {
    #[inline]
    fn drop(&mut self) {
        HELD.with_borrow_mut(|all| all.truncate(all.len() - self.0));
    }
}
