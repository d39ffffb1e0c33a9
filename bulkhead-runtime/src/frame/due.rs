//! When what is polled now has to be done, and who has said so.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64 as Unexplored, Ordering};
use std::time::Duration;

use super::{depth, held, inside, owner};
use crate::time::{self, Instant};

thread_local! {
    static DUE: Cell<Due> = const { Cell::new(Due::Never) };
    /// Who has set it.
    static SETTER: Cell<Setter> = const { Cell::new(Setter::NOBODY) };
    /// What is left from when somebody asks, while nobody has.
    static LEFT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

#[derive(Debug, Clone, Copy)]
enum Due {
    Never,
    At(Instant),
    /// So long from when somebody asks.
    Unasked,
}

/// Who has set a deadline; the later it was set, the larger the number. A margin shortens a deadline, and leaves it to
/// its setter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setter(pub(super) u64);

impl Setter {
    pub(crate) const NOBODY: Self = Self(0);

    /// One that nobody was before.
    pub(crate) fn new() -> Self {
        static LAST: Unexplored = Unexplored::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Everybody who has set a deadline before.
    pub(crate) const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
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
    SETTER.set(Setter::new());
    deadline
}

/// Who has set the deadline of what is polled now.
pub(crate) fn setter() -> Setter {
    SETTER.get()
}

/// Whether a deadline holds, without asking for it.
#[inline]
pub(crate) fn is_due() -> bool {
    !matches!(DUE.get(), Due::Never)
}

/// What is left from when somebody asks, if there is a deadline that nobody has asked for.
#[inline]
pub(crate) fn left_unasked() -> Option<Duration> {
    if let Due::Unasked = DUE.get() {
        Some(LEFT.get())
    } else {
        None
    }
}

/// Lets a deadline hold that `setter` has set, unless one holds that is as soon, until what it returns is dropped.
#[inline]
#[must_use = "the deadline holds until this is dropped; bind it to a name"]
pub(crate) fn narrow(by: Instant, setter: Setter) -> Restored {
    let is_nearer = deadline().is_none_or(|before| by < before);
    set_if(is_nearer, by, setter)
}

/// The same, but one that is as soon as that which holds takes its place.
#[inline]
#[must_use = "the deadline holds until this is dropped; bind it to a name"]
pub(crate) fn set(by: Instant, setter: Setter) -> Restored {
    let is_nearer = deadline().is_none_or(|before| by <= before);
    set_if(is_nearer, by, setter)
}

#[inline]
fn set_if(is_nearer: bool, by: Instant, setter: Setter) -> Restored {
    let before = Restored(DUE.get(), SETTER.get());
    if is_nearer {
        DUE.with(|due| due.set(Due::At(by)));
        SETTER.with(|cell| cell.set(setter));
    }
    before
}

/// Where no deadline holds: lets one hold that is `left` from when somebody first asks for it, until what it returns
/// has ended or is dropped.
#[inline]
#[must_use = "the deadline holds until this is dropped; bind it to a name"]
pub(crate) fn allow(left: Duration) -> Allowed {
    LEFT.with(|cell| cell.set(left));
    DUE.with(|due| due.set(Due::Unasked));
    Allowed(())
}

/// What ends with it is a deadline that was left open.
#[derive(Debug)]
pub(crate) struct Allowed(());

impl Allowed {
    /// Tells the deadline and who has set it, if somebody has asked for it.
    #[inline]
    #[expect(clippy::unused_self, reason = "what it tells ends with it")]
    pub(crate) fn end(self) -> Option<(Instant, Setter)> {
        match DUE.get() {
            Due::At(deadline) => Some((deadline, SETTER.get())),
            Due::Never | Due::Unasked => None,
        }
    }
}

impl Drop for Allowed {
    #[inline]
    fn drop(&mut self) {
        DUE.with(|due| due.set(Due::Never));
        SETTER.with(|setter| setter.set(Setter::NOBODY));
    }
}

/// Runs foreign code that belongs to nobody's call: no deadline holds for it, and it holds nothing.
pub(crate) fn apart<T>(run: impl FnOnce() -> T) -> T {
    let _restored = Restored(DUE.replace(Due::Never), SETTER.replace(Setter::NOBODY));
    inside::apart(|| held::apart(|| depth::apart(|| owner::apart(run))))
}

/// Puts back the deadline that was, also when the poll unwinds.
#[derive(Debug)]
pub(crate) struct Restored(Due, Setter);

impl Drop for Restored {
    #[inline]
    fn drop(&mut self) {
        DUE.with(|due| due.set(self.0));
        SETTER.with(|setter| setter.set(self.1));
    }
}
