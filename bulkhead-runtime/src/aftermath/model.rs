//! The backoff and the budget under loom, run like the models of the gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use loom::thread;

use super::*;
use crate::admission::{Gate, Saturation, Watcher};
use crate::policy::Policy;
use crate::retry::RetryBudget;

struct Nobody;

impl Watcher for Nobody {
    fn saturation(&'static self, _: Saturation) {}
    fn emptied(&'static self) {}
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn explore(model: impl Fn(&'static Aftermath, Arc<Gate>) + Sync + Send + 'static) {
    let explored = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&explored);
    loom::model(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let budget = RetryBudget::new().with_ratio(100.0).with_min(1);
        let policy = Policy::new(1).with_retry_budget(budget);
        let aftermath = Box::leak(Box::new(Aftermath::new(&policy)));
        model(aftermath, Arc::new(Gate::new(policy, &Nobody)));
    });
    let explored = explored.load(Ordering::Relaxed);
    println!("{explored} interleavings");
    assert!(explored > 1, "loom explored nothing");
}

#[test]
fn a_call_that_backs_off_while_the_partition_closes_sees_it_or_is_woken() {
    explore(|aftermath, gate| {
        let closing = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                gate.close();
                aftermath.wake_sleepers();
            })
        };
        let woken = Arc::new(Woken::default());
        let backing_off = aftermath.back_off();
        backing_off.watch(&Waker::from(Arc::clone(&woken)));
        let sees = gate.is_closed();
        closing.join().expect("it closes");
        assert!(sees || woken.0.load(Ordering::Relaxed), "it sleeps on");
        drop(backing_off);
        let tally = aftermath.tally();
        assert_eq!((tally.backing_off, tally.retries.given_up), (0, 1));
    });
}

#[test]
fn two_retries_never_share_what_pays_for_one() {
    explore(|aftermath, _| {
        let now = Stamp(1);
        let other = thread::spawn(move || aftermath.withdraw(now));
        let one = aftermath.withdraw(now);
        let other = other.join().expect("it asks");
        assert!(one != other, "there is one, and one of them gets it");
        assert_eq!(aftermath.tally().retries.budget_spent, 1);
        aftermath.deposit(now);
        assert!(aftermath.withdraw(now), "it is paid for");
    });
}

#[test]
fn the_last_call_that_ends_is_seen_by_a_drain_or_tells_it() {
    explore(|aftermath, gate| {
        aftermath.begin();
        let ending = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                aftermath.end();
                gate.is_closed()
            })
        };
        gate.drain();
        let sees = aftermath.is_idle();
        let tells = ending.join().expect("it ends");
        assert!(sees || tells, "the drain waits for a call that is over");
    });
}
