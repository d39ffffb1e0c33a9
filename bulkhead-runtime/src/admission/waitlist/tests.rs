use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn join(list: &mut Waitlist, until: Instant) -> SlotIndex {
    list.join(
        Waker::noop().clone(),
        until,
        Bound::Wait,
        Operation::default(),
        Standing::Outside,
    )
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
                    let overdue: Vec<_> = granted.extract_if(.., |&mut (_, until)| until <= now).collect();
                    let mut told = 0;
                    list.revoke_overdue(now, |_| told += 1);
                    prop_assert_eq!(told, overdue.len());
                    revoked.extend(overdue);
                }
                3 => {
                    let now = start + Duration::from_millis(3);
                    let is_over = |&(_, until): &(SlotIndex, Instant)| until <= now;
                    let overdue: Vec<_> = waiting.iter().copied().filter(is_over).collect();
                    waiting.retain(|waiting| !is_over(waiting));
                    let mut told = 0;
                    list.expire_overdue(now, |_| told += 1);
                    prop_assert_eq!(told, overdue.len());
                    revoked.extend(overdue);
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
