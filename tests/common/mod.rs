//! What several test files share: partitions of their own, single polls, and the laws.

#![allow(dead_code, reason = "each test file uses its part of this")]

pub(crate) mod attempts;
pub(crate) mod watched;
pub(crate) mod wire;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bulkhead_runtime::{Partition, Policy, Snapshot, register};

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A partition of this test's own, without a queue.
pub(crate) fn plain(name: &str, max: u32) -> &'static Partition {
    register(name, Policy::new(max)).expect("each test has a name of its own")
}

/// A partition of this test's own, with a queue.
pub(crate) fn queued(name: &str, max: u32, queue: u32, wait: Duration) -> &'static Partition {
    register(name, Policy::new(max).with_queue(queue, wait))
        .expect("each test has a name of its own")
}

/// One poll by a task that nobody has to wake.
pub(crate) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that counts.
#[derive(Default)]
pub(crate) struct Woken(AtomicUsize);

impl Woken {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let woken = Arc::new(Self::default());
        (Arc::clone(&woken), woken.into())
    }

    pub(crate) fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Counts how many are inside, and the most that ever were.
#[derive(Default)]
pub(crate) struct Crowd {
    inside: AtomicUsize,
    peak: AtomicUsize,
    ever: AtomicUsize,
}

impl Crowd {
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.ever.fetch_add(1, Ordering::SeqCst);
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(inside, Ordering::SeqCst);
        Inside(self)
    }

    pub(crate) fn inside(&self) -> usize {
        self.inside.load(Ordering::SeqCst)
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }

    pub(crate) fn ever(&self) -> u64 {
        self.ever.load(Ordering::SeqCst) as u64
    }
}

pub(crate) struct Inside<'c>(&'c Crowd);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The bounds that hold at every moment.
#[track_caller]
pub(crate) fn assert_bounds(s: &Snapshot) {
    assert!(s.in_flight + s.granted <= s.max, "too many admitted: {s:?}");
    assert!(s.waiting <= s.queue, "the queue has no bound: {s:?}");
    assert_eq!(
        s.headroom,
        s.max - s.in_flight - s.granted,
        "headroom is what is left: {s:?}"
    );
}

/// A partition against what its callers have counted: so many calls that came, and so many that were rejected as closed.
#[track_caller]
pub(crate) fn assert_accounts_for(partition: &Partition, started: u64, closed: u64) {
    let s = partition.snapshot();
    assert_eq!((s.started, s.rejected.closed), (started, closed), "{s:?}");
    assert_bounds(&s);
}

/// Nobody inside, nobody waiting, and every permit is back.
#[track_caller]
pub(crate) fn assert_idle(partition: &Partition) {
    let s = partition.snapshot();
    assert_bounds(&s);
    assert_eq!(
        (s.in_flight, s.granted, s.waiting),
        (0, 0, 0),
        "something was lost: {s:?}"
    );
    let permits: Vec<_> = (0..s.max)
        .map(|_| partition.try_enter().expect("every permit is back"))
        .collect();
    partition.try_enter().expect_err("and not one more");
    drop(permits);
}

/// Runs what would hang for ever if it were wrong, and fails then. It ends the whole process, since what hangs
/// may hold a lock that other tests wait for.
pub(crate) fn hangs_or_not(what: &str, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    let running = std::thread::spawn(move || {
        run();
        done.send(()).expect("the test waits for it");
    });
    match is_done.recv_timeout(Duration::from_secs(20)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
            let told = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("test FAILED, it hangs: {what}\n").as_bytes(),
            );
            std::process::exit(if told.is_ok() { 101 } else { 102 });
        }
        _ => running.join().expect("it does not panic"),
    }
}

/// What a body says that panics on purpose.
pub(crate) const ON_PURPOSE: &str = "on purpose";

/// Keeps panics with the text [`ON_PURPOSE`] out of the output.
pub(crate) fn panics_on_purpose_are_silent() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<String>();
            if text.is_none_or(|text| text != ON_PURPOSE) {
                tell(info);
            }
        }));
    });
}
