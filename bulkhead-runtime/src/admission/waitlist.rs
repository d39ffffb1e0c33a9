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
//! | granted | granted | revoked | [`Waitlist::revoke_overdue`] |
//! | waiting | waiting | revoked | [`Waitlist::expire_overdue`] |
//! | waiting | waiting | turned away | [`Waitlist::turn_head_away`] |
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
    /// The gate was closed; that is counted, too.
    TurnedAway,
}

struct Slot {
    /// Kept while waiting only; a grant takes it out to wake it.
    waker: Option<Waker>,
    until: Instant,
    before: SlotIndex,
    after: SlotIndex,
    bound: Bound,
    state: State,
}

impl List {
    fn is_due(&mut self, until: Instant) {
        self.due = Some(self.due.map_or(until, |due| due.min(until)));
    }
}

#[derive(Clone, Copy)]
struct List {
    head: SlotIndex,
    tail: SlotIndex,
    len: u32,
    /// Nobody in it is out of time before this instant: who looks earlier need not walk the list.
    due: Option<Instant>,
}

const EMPTY: List = List {
    head: NONE,
    tail: NONE,
    len: 0,
    due: None,
};

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

    /// Until when the one has time that a newcomer would stand behind.
    pub(super) fn until_of_last(&self) -> Option<Instant> {
        let waits = self.slots.get(self.waiting.tail as usize);
        let last = waits.or_else(|| self.slots.get(self.granted.tail as usize))?;
        Some(last.until)
    }

    /// Joins at the tail.
    pub(super) fn join(&mut self, waker: Waker, until: Instant, bound: Bound) -> SlotIndex {
        let slot = Slot {
            waker: Some(waker),
            until,
            before: NONE,
            after: NONE,
            bound,
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
        let (index, waker) = self.take_head(State::Granted)?;
        append(&mut self.slots, &mut self.granted, index);
        waker
    }

    /// Takes the head out of the queue for good; its waker is to be woken outside the lock.
    pub(super) fn turn_head_away(&mut self) -> Option<Waker> {
        self.take_head(State::TurnedAway)?.1
    }

    fn take_head(&mut self, becomes: State) -> Option<(SlotIndex, Option<Waker>)> {
        let index = self.waiting.head;
        let slot = self.slots.get_mut(index as usize)?;
        slot.state = becomes;
        let waker = slot.waker.take();
        unlink(&mut self.slots, &mut self.waiting, index);
        Some((index, waker))
    }

    /// Takes back one grant whose waiter's time is up at `now`.
    pub(super) fn revoke_overdue(&mut self, now: Instant) -> Option<Bound> {
        take_overdue(&mut self.slots, &mut self.granted, now)
    }

    /// Takes one place in the queue whose waiter's time is up at `now`. The waiter is not woken: if
    /// anybody still polls it, its own timer does that.
    pub(super) fn expire_overdue(&mut self, now: Instant) -> Option<Bound> {
        take_overdue(&mut self.slots, &mut self.waiting, now)
    }

    /// Empties a slot and tells what it was, with its waker, to be dropped outside the lock.
    pub(super) fn remove(&mut self, index: SlotIndex) -> (State, Option<Waker>) {
        let slot = &mut self.slots[index as usize];
        let was = std::mem::replace(&mut slot.state, State::Vacant);
        let waker = slot.waker.take();
        match was {
            State::Waiting => unlink(&mut self.slots, &mut self.waiting, index),
            State::Granted => unlink(&mut self.slots, &mut self.granted, index),
            State::Revoked | State::TurnedAway => {}
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
    match slots.get_mut(list.tail as usize) {
        Some(tail) => tail.after = index,
        None => list.head = index,
    }
    list.tail = index;
    list.len += 1;
    list.is_due(slots[index as usize].until);
}

/// Takes the first out of the list whose time is up at `now`.
fn take_overdue(slots: &mut [Slot], list: &mut List, now: Instant) -> Option<Bound> {
    list.due.take_if(|due| *due <= now)?;
    let mut index = list.head;
    while let Some(slot) = slots.get_mut(index as usize) {
        if slot.until <= now {
            let bound = slot.bound;
            slot.state = State::Revoked;
            unlink(slots, list, index);
            // There may be more of them.
            list.due = Some(now);
            return Some(bound);
        }
        list.is_due(slot.until);
        index = slot.after;
    }
    None
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
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn join(list: &mut Waitlist, until: Instant) -> SlotIndex {
        list.join(Waker::noop().clone(), until, Bound::Wait)
    }

    #[test]
    fn a_slot_is_small_enough_to_have_many() {
        assert!(
            size_of::<Slot>() <= 64,
            "a waiter takes {} bytes",
            size_of::<Slot>()
        );
    }

    #[test]
    fn slots_are_used_again() {
        let now = crate::time::now();
        let mut list = Waitlist::new();
        for _ in 0..100 {
            let slots = [(); 3].map(|()| join(&mut list, now));
            for slot in slots {
                let (was, _waker) = list.remove(slot);
                assert_eq!(was, State::Waiting, "nothing else happened to it");
            }
        }
        assert_eq!(list.slots.len(), 3, "as many slots as ever waited at once");
    }

    proptest! {
        /// Against two plain queues of indices.
        #[test]
        fn behaves_like_two_plain_queues(steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>()), 0..200)) {
            let start = crate::time::now();
            let mut list = Waitlist::new();
            let (mut waiting, mut granted, mut revoked) = (VecDeque::new(), Vec::new(), Vec::new());
            for (at, (step, pick)) in steps.into_iter().enumerate() {
                let until = |joined: usize| start + Duration::from_millis(joined as u64 % 7);
                match step {
                    0 => waiting.push_back((join(&mut list, until(at)), until(at))),
                    1 => {
                        prop_assert_eq!(list.grant_head().is_some(), !waiting.is_empty());
                        granted.extend(waiting.pop_front());
                    }
                    2 => {
                        let now = start + Duration::from_millis(3);
                        let overdue = granted.iter().position(|&(_, until)| until <= now);
                        prop_assert_eq!(list.revoke_overdue(now).is_some(), overdue.is_some());
                        revoked.extend(overdue.map(|at| granted.remove(at)));
                    }
                    3 => {
                        let now = start + Duration::from_millis(3);
                        let overdue = waiting.iter().position(|&(_, until)| until <= now);
                        prop_assert_eq!(list.expire_overdue(now).is_some(), overdue.is_some());
                        revoked.extend(overdue.and_then(|at| waiting.remove(at)));
                    }
                    _ => {
                        let all: Vec<_> = waiting.iter().chain(&granted).chain(&revoked).map(|&(slot, _)| slot).collect();
                        if all.is_empty() { continue }
                        let slot = *pick.get(&all);
                        let (was, _waker) = list.remove(slot);
                        let expected = if waiting.iter().any(|&(s, _)| s == slot) { State::Waiting }
                            else if granted.iter().any(|&(s, _)| s == slot) { State::Granted }
                            else { State::Revoked };
                        prop_assert_eq!(was, expected);
                        waiting.retain(|&(s, _)| s != slot);
                        granted.retain(|&(s, _)| s != slot);
                        revoked.retain(|&(s, _)| s != slot);
                    }
                }
                prop_assert_eq!(list.waiting() as usize, waiting.len());
                prop_assert_eq!(list.granted() as usize, granted.len());
                prop_assert_eq!(list.waiting.head, waiting.front().map_or(NONE, |&(slot, _)| slot));
            }
        }
    }
}
