//! Who is told what, when, and how often; and what a listener may do meanwhile.

#![expect(clippy::disallowed_types, reason = "a listener may lock as it likes")]

mod common;

use std::collections::BTreeSet;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use std::thread;

use bulkhead_runtime::{
    BulkheadError, Event, Mode, Observer, Partition, Subscription, Wants, subscribe, test,
};
use common::{
    ON_PURPOSE, assert_idle, hangs_or_not, ms, panics_on_purpose_are_silent, plain, poll_once,
    queued,
};
use tokio::time::advance;

/// What was told of one partition, a line each: other tests of this process are none of its business.
#[derive(Clone)]
struct Heard {
    name: &'static str,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Heard {
    fn of(partition: &Partition) -> (Self, Subscription) {
        let heard = Self {
            name: partition.name(),
            lines: Arc::default(),
        };
        let subscription = subscribe(heard.clone());
        (heard, subscription)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines())
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().expect("nobody panics while it is held")
    }
}

impl Observer for Heard {
    fn observe(&self, event: &Event<'_>) {
        if event.partition().name() == self.name {
            self.lines().push(line(event));
        }
    }
}

fn line(event: &Event<'_>) -> String {
    match event {
        Event::Rejected { error, .. } => format!("rejected: {error}"),
        Event::TimedOut { error, .. } => format!("timed out: {error}"),
        Event::Saturated { episode, .. } => format!("saturated {episode}"),
        Event::Relieved { episode, after, .. } => format!("relieved {episode} after {after:?}"),
        Event::Closed { .. } => "closed".to_owned(),
        Event::Reopened { .. } => "reopened".to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn everything_is_told_once_with_its_numbers() {
    let partition = plain("told", 2);
    let (heard, subscription) = Heard::of(partition);

    let first = partition.try_enter().expect("it is free");
    assert_eq!(heard.take(), [""; 0], "there is headroom");
    let second = partition.try_enter().expect("it is free");
    assert_eq!(heard.take(), ["saturated 1"]);
    advance(ms(1_500)).await;
    let error = partition.try_enter().expect_err("it is full");
    assert_eq!(heard.take(), [format!("rejected: {error}")]);
    drop(first);
    assert_eq!(heard.take(), ["relieved 1 after 1.5s"]);
    drop(second);
    assert_eq!(heard.take(), [""; 0], "it was relieved before");

    let error = partition
        .call(pending::<()>())
        .timeout(ms(10))
        .await
        .expect_err("it hangs");
    assert_eq!(heard.take(), [format!("timed out: {error}")]);

    partition.close();
    partition.close();
    assert_eq!(heard.take(), ["closed"], "it was closed already");
    let error = partition.try_enter().expect_err("it is closed");
    assert_eq!(heard.take(), [format!("rejected: {error}")]);
    partition.reopen();
    partition.reopen();
    assert_eq!(heard.take(), ["reopened"]);

    subscription.unsubscribe();
    assert_idle(partition);
    assert_eq!(heard.take(), [""; 0], "it listens no more");
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_goes_on_to_a_waiter_was_never_free() {
    let partition = queued("told-waiter", 1, 2, ms(100));
    let (heard, _) = Heard::of(partition);
    let held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    advance(ms(7)).await;
    let Poll::Ready(Ok(permit)) = poll_once(waits.as_mut()) else {
        panic!("it was handed the permit")
    };
    assert_eq!(heard.take(), ["saturated 1"]);
    drop(permit);
    assert_eq!(heard.take(), ["relieved 1 after 7ms"]);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_back_relieves() {
    let partition = queued("told-grant", 1, 1, ms(100));
    let (heard, _) = Heard::of(partition);
    let held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    assert_eq!(heard.take(), ["saturated 1"], "it is granted");
    drop(waits);
    assert_eq!(heard.take(), ["relieved 1 after 0ns"], "nobody claims it");

    let held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    advance(ms(100)).await;
    let late = partition.try_enter().expect("the grant is overdue");
    assert_eq!(
        heard.take(),
        ["saturated 2"],
        "one has taken it from the other"
    );
    drop(late);
    assert_eq!(heard.take(), ["relieved 2 after 100ms"]);
    drop(waits);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn permits_that_go_to_waiters_one_after_the_other_were_never_free() {
    let partition = queued("told-grow", 1, 2, ms(100));
    let (heard, _) = Heard::of(partition);
    let held = partition.try_enter().expect("it is free");
    let mut waiters = [(); 2].map(|()| Box::pin(partition.enter()));
    for waiter in &mut waiters {
        assert!(poll_once(waiter.as_mut()).is_pending());
    }
    assert_eq!(heard.take(), ["saturated 1"]);
    partition.resize(3).expect("legal");
    assert_eq!(partition.snapshot().granted, 2);
    assert_eq!(heard.take(), [""; 0], "three of three, at once");
    drop((held, waiters));
    assert_eq!(heard.take(), ["relieved 1 after 0ns"]);
}

#[test]
fn fewer_permits_saturate_and_more_relieve() {
    let partition = plain("told-resize", 3);
    let (heard, _) = Heard::of(partition);
    let held = [(); 2].map(|()| partition.try_enter().expect("it is free"));
    partition.resize(1).expect("legal");
    assert_eq!(heard.take(), ["saturated 1"]);
    partition.resize(2).expect("legal");
    assert_eq!(heard.take(), [""; 0], "two of two");
    partition.resize(3).expect("legal");
    let lines = heard.take();
    assert!(
        lines.len() == 1 && lines[0].starts_with("relieved 1 after "),
        "{lines:?}"
    );
    drop(held);
    assert_eq!(heard.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn who_observes_is_told_and_who_is_off_is_not() {
    let partition = plain("told-mode", 1);
    let (heard, _) = Heard::of(partition);
    partition.mode(Mode::Observe);
    let held = [(); 3].map(|()| partition.try_enter().expect("everything runs"));
    assert_eq!(heard.take(), ["saturated 1"]);
    assert_eq!(partition.snapshot().would_reject, 2, "counted as without");
    partition.mode(Mode::Off);
    assert_eq!(heard.take(), ["relieved 1 after 0ns"]);
    partition.mode(Mode::Enforce);
    assert_eq!(heard.take(), ["saturated 2"]);
    drop(held);
    assert_eq!(heard.take(), ["relieved 2 after 0ns"]);
    partition.mode(Mode::Off);
    drop([(); 3].map(|()| partition.try_enter().expect("everything runs")));
    assert_eq!(heard.take(), [""; 0]);
    partition.mode(Mode::Enforce);
    assert_idle(partition);
}

#[test]
fn who_comes_late_is_told_what_is_saturated_and_who_leaves_is_told_nothing() {
    let partition = plain("told-late", 1);
    let held = partition.try_enter().expect("it is free");
    let (first, first_subscription) = Heard::of(partition);
    let told = first.take();
    assert!(
        told.len() == 1 && told[0].starts_with("saturated "),
        "{told:?}"
    );
    let (second, _) = Heard::of(partition);
    assert_eq!(second.take(), told, "of the same episode");
    assert_eq!(first.take(), [""; 0], "it knows");
    first_subscription.unsubscribe();
    drop(held);
    assert_eq!(first.take(), [""; 0], "it has left");
    assert_eq!(second.take().len(), 1, "relieved");
}

#[test]
fn nobody_is_told_what_it_does_not_want() {
    struct Rejections(Heard);

    impl Observer for Rejections {
        fn observe(&self, event: &Event<'_>) {
            self.0.observe(event);
        }

        fn wants(&self) -> Wants {
            Wants::USUAL.without_saturation()
        }
    }

    let partition = plain("told-less", 1);
    let heard = Heard {
        name: partition.name(),
        lines: Arc::default(),
    };
    subscribe(Rejections(heard.clone()));
    // Another one wants it all, so that there is something to leave out.
    let (all, _) = Heard::of(partition);
    let held = partition.try_enter().expect("it is free");
    partition.try_enter().expect_err("it is full");
    drop(held);
    assert_eq!(all.take().len(), 3);
    let told = heard.take();
    assert!(
        told.len() == 1 && told[0].starts_with("rejected: "),
        "{told:?}"
    );
}

#[test]
fn an_isolated_partition_is_told_of() {
    let _isolated = test::isolate();
    let partition = plain("told-isolated", 1);
    let (heard, _) = Heard::of(partition);
    drop(partition.try_enter().expect("it is free"));
    assert_eq!(heard.take().len(), 2);
    // One that is made while somebody listens.
    let _again = test::isolate();
    drop(partition.try_enter().expect("it is free"));
    assert_eq!(heard.take().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_changes_neither_result_nor_counts() {
    panics_on_purpose_are_silent();
    let partition = queued("told-panics", 1, 1, ms(10));
    let panics = subscribe(|event: &Event<'_>| {
        assert!(event.partition().name() != "told-panics", "{ON_PURPOSE}");
    });
    let (heard, subscription) = Heard::of(partition);

    let held = partition.try_enter().expect("it is free");
    let error = partition.enter().await.expect_err("its wait is over");
    assert!(matches!(error, BulkheadError::WaitTimeout(_)), "{error}");
    let mut waits = Box::pin(partition.enter());
    assert!(poll_once(waits.as_mut()).is_pending());
    let error = partition.try_enter().expect_err("it is full");
    assert!(matches!(error, BulkheadError::Full(_)), "{error}");
    drop(held);
    drop(waits.await.expect("it was handed the permit"));

    let error = partition
        .call(pending::<()>())
        .timeout(ms(5))
        .await
        .expect_err("it hangs");
    assert!(matches!(error, BulkheadError::CallTimeout(_)), "{error}");

    let mut panicking = Box::pin(partition.call(async { panic!("{ON_PURPOSE}") }));
    catch_unwind(AssertUnwindSafe(|| {
        poll_once(panicking.as_mut()).is_ready()
    }))
    .expect_err("the panic is the body's");
    drop(panicking);

    partition.resize(2).expect("legal");
    partition.mode(Mode::Observe);
    partition.mode(Mode::Enforce);
    partition.close();
    let error = partition.try_enter().expect_err("it is closed");
    assert!(matches!(error, BulkheadError::Closed(_)), "{error}");
    partition.reopen();

    let kinds: Vec<_> = heard
        .take()
        .iter()
        .map(|line| line.split([' ', ':']).next().expect("a word").to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "saturated",
            "rejected",
            "rejected",
            "relieved",
            "saturated",
            "relieved",
            "timed",
            "saturated",
            "relieved",
            "closed",
            "rejected",
            "reopened"
        ],
        "the other one is told all the same"
    );
    let s = partition.snapshot();
    assert_eq!(
        (s.rejected.full, s.rejected.wait_timeout, s.rejected.closed),
        (1, 1, 1)
    );
    assert_eq!(
        (
            s.outcomes.success,
            s.outcomes.timed_out,
            s.outcomes.panicked
        ),
        (2, 1, 1)
    );
    assert_idle(partition);
    panics.unsubscribe();
    subscription.unsubscribe();
}

#[test]
fn a_listener_that_panics_when_it_is_dropped_harms_nobody() {
    struct Fragile;

    impl Observer for Fragile {
        fn observe(&self, _: &Event<'_>) {}
    }

    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("{ON_PURPOSE}");
        }
    }

    panics_on_purpose_are_silent();
    let partition = plain("told-fragile", 1);
    let fragile = subscribe(Fragile);
    drop(partition.try_enter().expect("it is free"));
    fragile.unsubscribe();
    assert_idle(partition);
}

#[test]
fn a_listener_may_do_everything_while_it_is_told() {
    hangs_or_not("a listener that is told under a lock", || {
        let partition = plain("told-busy", 1);
        let other = queued("told-busy-too", 2, 1, ms(5));
        let done = Arc::new(Mutex::new(BTreeSet::new()));
        let own = Arc::new(Mutex::new(None::<Subscription>));
        // Where it panics half-way, nobody else would notice.
        let finished = Arc::new(AtomicUsize::new(0));
        let subscription = subscribe({
            let (done, own, finished) =
                (Arc::clone(&done), Arc::clone(&own), Arc::clone(&finished));
            move |event: &Event<'_>| {
                if event.partition().name() != "told-busy" {
                    return;
                }
                let kind = line(event).split([' ', ':']).next().map(str::to_owned);
                if !done.lock().expect("held for a moment").insert(kind) {
                    return;
                }
                subscribe(|_: &Event<'_>| {}).unsubscribe();
                partition.resize(2).expect("legal");
                partition.resize(1).expect("legal");
                let permits = [(); 2].map(|()| other.try_enter().expect("it is free"));
                other.try_enter().expect_err("it is full");
                drop(permits);
                let s = partition.snapshot();
                assert_eq!(s.max, 1, "{s:?}");
                drop(partition.try_enter());
                partition.close();
                partition.reopen();
                partition.mode(Mode::Off);
                partition.mode(Mode::Enforce);
                let own = own.lock().expect("held for a moment").take();
                if let Some(own) = own {
                    own.unsubscribe();
                }
                finished.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (heard, _) = Heard::of(partition);
        let held = partition.try_enter().expect("it is free");
        partition.try_enter().expect_err("it is full");
        drop(held);
        partition.close();
        partition.reopen();
        assert_eq!(
            done.lock().expect("held for a moment").len(),
            5,
            "saturated, relieved, rejected, closed, reopened"
        );
        assert_eq!(finished.load(Ordering::Relaxed), 5, "it panicked");
        *own.lock().expect("held for a moment") = Some(subscription);
        done.lock().expect("held for a moment").clear();
        drop(partition.try_enter().expect("it is free"));
        assert_eq!(finished.load(Ordering::Relaxed), 10, "it panicked");
        done.lock().expect("held for a moment").clear();
        drop(partition.try_enter().expect("it is free"));
        assert!(
            done.lock().expect("held for a moment").is_empty(),
            "it has unsubscribed itself, while it was told"
        );
        assert_idle(partition);
        assert_idle(other);
        drop(heard);
    });
}

/// Counts, on every thread, and never in order.
#[derive(Default)]
struct Episodes {
    began: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    twice: u64,
}

#[test]
fn in_a_storm_every_episode_begins_once_and_ends_once() {
    const ROUNDS: u64 = 20_000;
    let partition = queued("told-storm", 3, 2, ms(1_000));
    let episodes = Arc::new(Mutex::new(Episodes::default()));
    let subscription = subscribe({
        let episodes = Arc::clone(&episodes);
        move |event: &Event<'_>| {
            if event.partition().name() != "told-storm" {
                return;
            }
            let mut episodes = episodes.lock().expect("nobody panics while it is held");
            let is_new = match event {
                Event::Saturated { episode, .. } => episodes.began.insert(*episode),
                Event::Relieved { episode, .. } => episodes.ended.insert(*episode),
                _ => return,
            };
            // A panic here would harm nothing, and so fail nothing.
            episodes.twice += u64::from(!is_new);
        }
    });
    let at_rest = || {
        let episodes = episodes.lock().expect("nobody panicked in it");
        let Episodes {
            began,
            ended,
            twice,
        } = &*episodes;
        assert_eq!(*twice, 0, "told twice");
        let open: Vec<_> = began.difference(ended).copied().collect();
        assert!(ended.is_subset(began), "relieved of nothing");
        let last = began.last().copied();
        let expected = 1..=last.unwrap_or(0);
        assert!(began.iter().copied().eq(expected), "none is left out");
        (open, last)
    };
    for round in 0..4_u64 {
        thread::scope(|scope| {
            for thread in 0..3_u64 {
                scope.spawn(move || storm(partition, round * 3 + thread, ROUNDS));
            }
        });
        partition.mode(Mode::Enforce);
        partition.reopen();
        partition.resize(3).expect("legal");
        let (open, last) = at_rest();
        assert_eq!(open, [0; 0], "nothing is in flight: {last:?}");
        let all = [(); 3].map(|()| partition.try_enter().expect("every permit is back"));
        let (open, last) = at_rest();
        assert_eq!(open, Vec::from_iter(last), "it is saturated now");
        drop(all);
        assert!(at_rest().1 > Some(100), "it was saturated often");
    }
    subscription.unsubscribe();
    assert_idle(partition);
}

fn storm(partition: &'static Partition, seed: u64, rounds: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let _context = runtime.enter();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut held = Vec::new();
    let mut waits = Vec::new();
    for _ in 0..rounds {
        match random.u32(..100) {
            0..40 => held.extend(partition.try_enter()),
            40..75 => drop(held.pop()),
            75..84 => {
                let mut enter = Box::pin(partition.enter());
                match poll_once(enter.as_mut()) {
                    Poll::Pending => waits.push(enter),
                    Poll::Ready(entered) => held.extend(entered),
                }
            }
            84..90 => drop(waits.pop()),
            90..96 => {
                if let Some(mut enter) = waits.pop() {
                    match poll_once(enter.as_mut()) {
                        Poll::Pending => waits.push(enter),
                        Poll::Ready(entered) => held.extend(entered),
                    }
                }
            }
            96 => partition.resize(random.u32(1..5)).expect("legal"),
            97 => {
                let mode = [Mode::Enforce, Mode::Observe, Mode::Off][random.usize(..3)];
                partition.mode(mode);
            }
            98 => {
                partition.close();
                partition.reopen();
            }
            _ => {
                let closely = if random.bool() {
                    Wants::USUAL.with_admissions()
                } else {
                    Wants::USUAL
                };
                subscribe(Wanting(closely)).unsubscribe();
            }
        }
    }
    drop((held, waits));
}

/// Changes how closely everything is watched, by what it wants.
struct Wanting(Wants);

impl Observer for Wanting {
    fn observe(&self, _: &Event<'_>) {}

    fn wants(&self) -> Wants {
        self.0
    }
}
