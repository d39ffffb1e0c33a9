//! Three workloads on one Postgres: their shares add up while compiling, and the pool is never asked for
//! more than it has.
//!
//! Postgres takes 30 connections in this story. A stand-in pool of 30 counts who holds one and would
//! panic if it were asked for more. Checkouts, searches and reports run at once, and the reports hang:
//! they keep their share and nothing else. With one permit too many the program would not compile:
//!
//! ```text
//! error[E0080]: evaluation panicked: `postgres` is over by 1: its partitions take 28 in each of 1
//!               replica, 28 in all, and `capacity = 30` less `spare = 3` leaves 27
//!   |
//! 5 | #[dependency(capacity = CAPACITY, spare = 3, replicas = 1)]
//!   |                         ^^^^^^^^
//! ```
//!
//! ```text
//! cargo run --example postgres_budget
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, bulkhead, dependency};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What Postgres takes: one number, for the shares and for the pool.
const CAPACITY: u32 = 30;

/// Of the connections 3 stay free for administration; one process runs at a time.
#[dependency(capacity = CAPACITY, spare = 3, replicas = 1)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    /// 200 a second at peak, of 40 ms each: 8 in flight on average.
    #[partition(
        name = "checkout",
        max = 16,
        queue = 6,
        wait = 25ms,
        measured(rate = 200, mean = 40ms)
    )]
    pub(crate) static CHECKOUT: Partition;

    #[partition(name = "search", max = 8)]
    pub(crate) static SEARCH: Partition;

    #[partition(name = "reports", max = 3)]
    pub(crate) static REPORTS: Partition;
}

/// Stands in for the connection pool.
struct Pool {
    in_use: AtomicU32,
    most: AtomicU32,
}

static POOL: Pool = Pool {
    in_use: AtomicU32::new(0),
    most: AtomicU32::new(0),
};

struct Connection;

impl Pool {
    fn connect(&self) -> Connection {
        let in_use = self.in_use.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(
            in_use <= CAPACITY,
            "the pool was asked for more than it has: {in_use}"
        );
        self.most.fetch_max(in_use, Ordering::SeqCst);
        Connection
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        POOL.in_use.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Notified when the database answers the reports again.
static RECOVERED: Notify = Notify::const_new();

#[bulkhead(postgres::CHECKOUT, timeout = 500ms)]
async fn place_order() -> Result<(), BulkheadError> {
    let _connection = POOL.connect();
    tokio::time::sleep(Duration::from_millis(4)).await;
    Ok(())
}

#[bulkhead(postgres::SEARCH, timeout = 500ms)]
async fn find_product() -> Result<(), BulkheadError> {
    let _connection = POOL.connect();
    tokio::time::sleep(Duration::from_millis(2)).await;
    Ok(())
}

#[bulkhead(postgres::REPORTS)]
async fn monthly_report() -> Result<(), BulkheadError> {
    let _connection = POOL.connect();
    RECOVERED.notified().await;
    Ok(())
}

/// A caller that comes back a millisecond after each answer, whatever that was.
async fn keep_calling<F>(call: fn() -> F)
where
    F: Future<Output = Result<(), BulkheadError>>,
{
    for _ in 0..100 {
        // Counted by its partition.
        drop(call().await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::main]
async fn main() {
    bulkhead_runtime::verify().expect("the shares are what they were while compiling");
    print!("{}", bulkhead_runtime::table());
    println!();

    let mut reports = JoinSet::new();
    for _ in 0..20 {
        reports.spawn(monthly_report());
    }
    // More callers of each than it has permits, while the reports hang.
    let mut callers = JoinSet::new();
    for _ in 0..30 {
        callers.spawn(keep_calling(place_order));
    }
    for _ in 0..12 {
        callers.spawn(keep_calling(find_product));
    }
    callers.join_all().await;

    let postgres = dependency("postgres").expect("it is declared above");
    let hanging = postgres.snapshot();
    assert_eq!(
        hanging.in_flight, 3,
        "the reports hang in their own share, and nothing else does"
    );
    RECOVERED.notify_waiters();
    let reports = reports.join_all().await;
    let answered = reports.iter().filter(|report| report.is_ok()).count();
    assert_eq!(answered, 3, "those that hung have their answer now");

    let snapshot = postgres.snapshot();
    println!("workload  permits  success  rejected");
    for part in &snapshot.partitions {
        println!(
            "{:<9}{:>8}{:>9}{:>10}",
            part.name,
            part.max,
            part.outcomes.success,
            part.rejected.total()
        );
    }
    let most = POOL.most.load(Ordering::SeqCst);
    println!(
        "at most {most} of {CAPACITY} connections were in use, and {} are this process's",
        postgres.share()
    );

    assert_eq!(snapshot.headroom, snapshot.max, "every permit is back");
    assert!(
        u64::from(most) <= snapshot.max,
        "never more than the shares"
    );
    let checkout = &snapshot.partitions[0];
    assert!(
        checkout.outcomes.success > 1_000 && checkout.rejected.total() > 0,
        "the checkouts went on while the reports hung, and were as many as they may be"
    );
    // At run time the sum holds as well.
    let error = postgres::REPORTS.resize(4).expect_err("27 of 27 are given");
    println!("{error}");
}
