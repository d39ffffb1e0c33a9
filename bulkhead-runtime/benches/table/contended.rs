//! Two threads at once: on one partition, and on one each.

use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bulkhead_runtime::bulkhead;
use tokio::sync::Semaphore;

use crate::functions::{AppError, run_ready};
use crate::pair::{Goal, Ratio, Row};

const CALLS: u64 = 50_000;

#[bulkhead(name = "contended", max = 64)]
async fn guarded(spins: u64) -> Result<(), AppError> {
    work(spins);
    Ok(())
}

static ROOM: Semaphore = Semaphore::const_new(64);

async fn semaphore(spins: u64) -> Result<(), AppError> {
    let _permit = ROOM.acquire().await;
    work(spins);
    Ok(())
}

#[bulkhead(name = "apart-left", max = 64)]
async fn left(spins: u64) -> Result<(), AppError> {
    work(spins);
    Ok(())
}

#[bulkhead(name = "apart-right", max = 64)]
async fn right(spins: u64) -> Result<(), AppError> {
    work(spins);
    Ok(())
}

/// As many operations on an atomic as a call of ours has.
fn two_operations(counter: &AtomicU64) -> std::future::Ready<()> {
    counter.fetch_add(1, Ordering::AcqRel);
    black_box(counter);
    counter.fetch_sub(1, Ordering::AcqRel);
    std::future::ready(())
}

#[repr(align(4096))]
struct OwnPage(AtomicU64);

static PAGES: [OwnPage; 2] = [const { OwnPage(AtomicU64::new(0)) }; 2];

fn work(spins: u64) {
    for _ in 0..black_box(spins) {
        spin_loop();
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let half_a_microsecond = spins_in(Duration::from_nanos(500));
    let beside = "tokio semaphore";
    let hammered = |spins| {
        Ratio::of_pair(
            101,
            || {
                both(
                    || run_ready(CALLS, |_| guarded(spins)),
                    || run_ready(CALLS, |_| guarded(spins)),
                )
            },
            || {
                both(
                    || run_ready(CALLS, |_| semaphore(spins)),
                    || run_ready(CALLS, |_| semaphore(spins)),
                )
            },
        )
    };
    vec![
        Row {
            situation: "one partition, 2 threads, body of 0.5 µs".into(),
            beside,
            ratio: hammered(half_a_microsecond),
            goal: Goal::AtMost(1.0),
        },
        Row {
            situation: "one partition, 2 threads, empty body".into(),
            beside,
            ratio: hammered(0),
            goal: Goal::AtMost(1.5),
        },
        Row {
            situation: "two partitions, one thread each: speed-up over one thread".into(),
            beside: "two atomics on pages of their own",
            ratio: Ratio::of(101, || {
                let ours = speed_up(
                    || run_ready(CALLS, |_| left(0)),
                    || run_ready(CALLS, |_| right(0)),
                );
                let control = speed_up(
                    || run_ready(CALLS, |_| two_operations(&PAGES[0].0)),
                    || run_ready(CALLS, |_| two_operations(&PAGES[1].0)),
                );
                ours / control
            }),
            goal: Goal::AtLeast(0.95),
        },
    ]
}

fn spins_in(time: Duration) -> u64 {
    let start = Instant::now();
    work(1_000_000);
    u64::try_from(1_000_000 * time.as_nanos() / start.elapsed().as_nanos().max(1)).unwrap_or(1)
}

/// The time until both threads are done, from when both have begun.
fn both(
    left: impl FnOnce() -> Duration + Send,
    right: impl FnOnce() -> Duration + Send,
) -> Duration {
    let begin = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            begin.wait();
            right()
        });
        begin.wait();
        let time = left();
        time.max(other.join().expect("a measurement does not panic"))
    })
}

/// How much faster two threads are than one.
fn speed_up(left: impl Fn() -> Duration + Send, right: impl Fn() -> Duration + Send) -> f64 {
    let alone = left() + right();
    let together = both(left, right);
    alone.as_secs_f64() / together.as_secs_f64()
}
