//! Who waits, in order, and who was granted a permit and has not claimed it yet. Pure: it knows no
//! clock, no atomics and no lock, and it never wakes anybody.
//!
//! Two lists run through one `Vec` of slots by index, so that joining, leaving from the middle and
//! a hand-off are all constant time and allocate nothing once the `Vec` has grown to the longest
//! queue that there was. A slot belongs to the waiter that holds its index until that waiter
//! removes it:
//!
//! | state | list | moves to | on |
//! |---|---|---|---|
//! | waiting | waiting | granted | [`Waitlist::grant_head`] |
//! | waiting | waiting | revoked | [`Waitlist::expire_overdue`] |
//! | waiting | waiting | turned away | [`Waitlist::turn_away_closed`]: closed; [`Waitlist::turn_away`]: a breaker opened |
//! | granted | granted | revoked | [`Waitlist::revoke_overdue`] |
//! | any | — | vacant | [`Waitlist::remove`], by its waiter |

use std::task::Waker;

use crate::time::Instant;

/// What ends a waiter's patience, and so the reason of its rejection when it has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The partition's `wait`.
    Wait,
    /// An absolute deadline of the caller's.
    Deadline,
}

/// Whose a place in the queue is, where somebody may turn away those of one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Operation(pub(crate) u32);

/// Where a call comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Outside,
    /// It is part of a call that holds a permit, of whatever partition.
    Inside,
}

/// Why a waiter was turned away before its time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Away {
    /// The gate was closed.
    Closed,
    /// A breaker opened.
    Open,
}

/// The index of a slot.
pub(crate) type SlotIndex = u32;

const NONE: SlotIndex = SlotIndex::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Vacant,
    Waiting,
    Granted,
    /// The grant, or the place in the queue, was taken back when its time was up, and that is counted;
    /// nothing is left for the waiter to give back.
    Revoked,
    /// That is counted, too.
    TurnedAway(Away),
}

struct Slot {
    /// Kept while waiting only; a grant takes it out to wake it.
    waker: Option<Waker>,
    until: Instant,
    /// When somebody before it is out of time, if that is sooner.
    watch: Option<Instant>,
    before: SlotIndex,
    after: SlotIndex,
    bound: Bound,
    operation: Operation,
    standing: Standing,
    state: State,
}

#[derive(Clone, Copy)]
struct List {
    head: SlotIndex,
    tail: SlotIndex,
    len: u32,
    /// Nobody in it is out of time before this instant: who looks earlier need not walk the list.
    due: Option<Instant>,
    /// Nobody in it has less time than the one before.
    is_ordered: bool,
}

const EMPTY: List = List {
    head: NONE,
    tail: NONE,
    len: 0,
    due: None,
    is_ordered: true,
};

/// Those that wait, those that were granted a permit, and the slots of both.
pub(super) struct Waitlist {
    slots: Vec<Slot>,
    waiting: List,
    granted: List,
    /// Vacant slots, chained by `after`.
    vacant: SlotIndex,
}

impl Waitlist {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            waiting: EMPTY,
            granted: EMPTY,
            vacant: NONE,
        }
    }

    pub(super) fn waiting(&self) -> u32 {
        self.waiting.len
    }

    pub(super) fn granted(&self) -> u32 {
        self.granted.len
    }

    pub(super) fn state(&self, index: SlotIndex) -> State {
        self.slots[index as usize].state
    }

    /// When the one who stands there should look whether somebody before it is out of time: at the end
    /// of the one before it if that is sooner than its own; otherwise when that one would look.
    pub(super) fn watch(&self, index: SlotIndex) -> Option<Instant> {
        self.slots[index as usize].watch
    }

    /// The same anew, after it has looked at `now`.
    pub(super) fn watch_again(&mut self, index: SlotIndex, now: Instant) -> Option<Instant> {
        let Slot { before, until, .. } = self.slots[index as usize];
        let next = match self.slots.get(before as usize) {
            Some(before) => Some(before.until),
            None => earliest(&self.slots, self.granted),
        };
        let watch = next.filter(|&next| now < next && next < until);
        self.slots[index as usize].watch = watch;
        watch
    }

    /// Joins at the tail.
    pub(super) fn join(
        &mut self,
        waker: Waker,
        until: Instant,
        bound: Bound,
        operation: Operation,
        standing: Standing,
    ) -> SlotIndex {
        let waits = self.slots.get(self.waiting.tail as usize);
        let last = waits.or_else(|| self.slots.get(self.granted.tail as usize));
        let watch = last.and_then(|last| {
            if last.until < until {
                Some(last.until)
            } else {
                last.watch
            }
        });
        let slot = Slot {
            waker: Some(waker),
            until,
            watch,
            before: NONE,
            after: NONE,
            bound,
            operation,
            standing,
            state: State::Waiting,
        };
        let index = self.place(slot);
        append(&mut self.slots, &mut self.waiting, index);
        index
    }

    fn place(&mut self, slot: Slot) -> SlotIndex {
        if let Some(vacant) = self.slots.get_mut(self.vacant as usize) {
            let index = self.vacant;
            self.vacant = vacant.after;
            *vacant = slot;
            return index;
        }
        self.slots.push(slot);
        SlotIndex::try_from(self.slots.len() - 1)
            .expect("fewer than 2^32 calls wait in one process")
    }

    /// Whether waking `waker` is what the slot would do anyway.
    pub(super) fn wakes(&self, index: SlotIndex, waker: &Waker) -> bool {
        self.slots[index as usize]
            .waker
            .as_ref()
            .is_some_and(|kept| kept.will_wake(waker))
    }

    /// Puts `waker` in and hands out what was there, to be dropped outside the lock.
    pub(super) fn replace_waker(&mut self, index: SlotIndex, waker: Waker) -> Option<Waker> {
        self.slots[index as usize].waker.replace(waker)
    }

    /// Moves the head of the queue to those granted; its waker is to be woken outside the lock.
    pub(super) fn grant_head(&mut self) -> Option<Waker> {
        let index = self.waiting.head;
        let slot = self.slots.get_mut(index as usize)?;
        slot.state = State::Granted;
        let waker = slot.waker.take();
        unlink(&mut self.slots, &mut self.waiting, index);
        append(&mut self.slots, &mut self.granted, index);
        waker
    }

    /// Takes all of this standing out of the queue: it is closed for them. Their wakers are to be woken outside the
    /// lock.
    pub(super) fn turn_away_closed(&mut self, is_closed: impl Fn(Standing) -> bool) -> Vec<Waker> {
        self.turn_away_if(Away::Closed, |slot| is_closed(slot.standing))
    }

    /// Takes all out of the queue of `operation`, or all there are: a breaker is open. Their wakers are to be woken
    /// outside the lock.
    pub(super) fn turn_away(&mut self, operation: Option<Operation>) -> Vec<Waker> {
        self.turn_away_if(Away::Open, |slot| {
            operation.is_none_or(|operation| slot.operation == operation)
        })
    }

    fn turn_away_if(&mut self, away: Away, is_meant: impl Fn(&Slot) -> bool) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let mut index = self.waiting.head;
        while let Some(slot) = self.slots.get_mut(index as usize) {
            let (at, next) = (index, slot.after);
            index = next;
            if is_meant(slot) {
                slot.state = State::TurnedAway(away);
                wakers.extend(slot.waker.take());
                unlink(&mut self.slots, &mut self.waiting, at);
            }
        }
        wakers
    }

    /// Takes back every grant whose waiter's time is up at `now`, and tells each.
    pub(super) fn revoke_overdue(&mut self, now: Instant, tell: impl FnMut(Bound)) {
        take_overdue(&mut self.slots, &mut self.granted, now, tell);
    }

    /// Takes every place in the queue whose waiter's time is up at `now`, and tells each. They are not
    /// woken: if anybody still polls one, its own timer does that.
    pub(super) fn expire_overdue(&mut self, now: Instant, tell: impl FnMut(Bound)) {
        take_overdue(&mut self.slots, &mut self.waiting, now, tell);
    }

    /// Nobody is out of time before this instant.
    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.due.into_iter().chain(self.granted.due).min()
    }

    /// Empties a slot and tells what it was, with its waker, to be dropped outside the lock.
    pub(super) fn remove(&mut self, index: SlotIndex) -> (State, Option<Waker>) {
        let slot = &mut self.slots[index as usize];
        let was = std::mem::replace(&mut slot.state, State::Vacant);
        let waker = slot.waker.take();
        match was {
            State::Waiting => unlink(&mut self.slots, &mut self.waiting, index),
            State::Granted => unlink(&mut self.slots, &mut self.granted, index),
            State::Revoked | State::TurnedAway(_) => {}
            State::Vacant => return (was, waker),
        }
        self.slots[index as usize].after = self.vacant;
        self.vacant = index;
        (was, waker)
    }
}

fn append(slots: &mut [Slot], list: &mut List, index: SlotIndex) {
    let slot = &mut slots[index as usize];
    (slot.before, slot.after) = (list.tail, NONE);
    let until = slot.until;
    if let Some(tail) = slots.get_mut(list.tail as usize) {
        tail.after = index;
        list.is_ordered &= tail.until <= until;
    } else {
        list.head = index;
        list.is_ordered = true;
    }
    list.tail = index;
    list.len += 1;
    list.look_by(until);
}

impl List {
    /// Somebody in it is out of time then.
    fn look_by(&mut self, until: Instant) {
        self.due = Some(self.due.map_or(until, |due| due.min(until)));
    }
}

/// When the first in the list is out of time.
fn earliest(slots: &[Slot], list: List) -> Option<Instant> {
    let mut slot = slots.get(list.head as usize)?;
    let mut earliest = slot.until;
    while let Some(next) = slots.get(slot.after as usize).filter(|_| !list.is_ordered) {
        earliest = earliest.min(next.until);
        slot = next;
    }
    Some(earliest)
}

/// Takes all out of the list whose time is up at `now`. Where nobody joined with less time than the one
/// before, which is always so without deadlines of callers, it looks at one more than it takes.
fn take_overdue(slots: &mut [Slot], list: &mut List, now: Instant, mut tell: impl FnMut(Bound)) {
    if list.due.take_if(|due| *due <= now).is_none() {
        return;
    }
    let mut index = list.head;
    while let Some(slot) = slots.get_mut(index as usize) {
        let (at, next) = (index, slot.after);
        index = next;
        if slot.until <= now {
            tell(slot.bound);
            slot.state = State::Revoked;
            unlink(slots, list, at);
        } else {
            let until = slot.until;
            list.look_by(until);
            if list.is_ordered {
                return;
            }
        }
    }
}

fn unlink(slots: &mut [Slot], list: &mut List, index: SlotIndex) {
    let Slot { before, after, .. } = slots[index as usize];
    match slots.get_mut(before as usize) {
        Some(slot) => slot.after = after,
        None => list.head = after,
    }
    match slots.get_mut(after as usize) {
        Some(slot) => slot.before = before,
        None => list.tail = before,
    }
    list.len -= 1;
}

#[cfg(test)]
mod tests;
