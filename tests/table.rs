//! The table of all shares, compared with a file that is checked in: `UPDATE_TABLE=1` writes it.

mod common;

use std::{env, fs};

use bulkhead_runtime::{
    BulkheadError, Mode, Policy, bulkhead, dependency, register, table, test, verify,
};
use common::ms;

#[dependency(capacity = 30, spare = 3, replicas = 1)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(
        name = "checkout",
        max = 16,
        queue = 6,
        wait = 25ms,
        measured(rate = 200, mean = 40ms)
    )]
    pub(crate) static CHECKOUT: Partition;

    #[partition(name = "reports", max = 11, reserve = 2, per_key = 3, status = 429)]
    pub(crate) static REPORTS: Partition;
}

#[dependency(capacity = 7, replicas = 2)]
mod cache {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "sessions", max = 3)]
    pub(crate) static SESSIONS: Partition;
}

#[bulkhead(name = "thumbnails", max = 4)]
async fn thumbnail() -> Result<(), BulkheadError> {
    Ok(())
}

#[tokio::test]
async fn the_table_is_the_one_that_was_reviewed() {
    thumbnail().await.expect("there is room");
    // What configuration made, or has changed, is not on it.
    register("table-registered", Policy::new(1)).expect("a name of its own");
    postgres::CHECKOUT.resize(2).expect("smaller fits");
    postgres::REPORTS.mode(Mode::Off);
    cache::SESSIONS.close();

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/partitions.txt");
    let found = table().to_string();
    if env::var_os("UPDATE_TABLE").is_some() {
        fs::write(file, &found).expect("the file can be written");
    }
    let reviewed = fs::read_to_string(file).expect("the file is checked in");
    assert_eq!(
        reviewed, found,
        "run this test with UPDATE_TABLE=1, and read the difference"
    );
}

#[test]
fn a_program_without_a_mistake_has_none() {
    verify().expect("every name is one thing, and every sum fits");
}

#[tokio::test(start_paused = true)]
async fn a_dependency_adds_up_its_parts() {
    let cache = dependency("cache").expect("it is declared above");
    let postgres = dependency("table/postgres").expect("it is qualified");
    assert_eq!((cache.share(), cache.replicas(), cache.sum()), (3, 2, 3));
    assert_eq!((postgres.capacity(), postgres.spare()), (30, 3));
    let _isolated = test::isolate();
    let held = (
        postgres::CHECKOUT.try_enter(),
        postgres::REPORTS.try_enter(),
    );
    tokio::time::advance(ms(1)).await;
    let s = postgres.snapshot();
    assert_eq!((s.max, s.in_flight, s.headroom), (27, 2, 25));
    assert_eq!(
        s.partitions.iter().map(|part| part.in_flight).sum::<u64>(),
        2
    );
    drop(held);
    let full = postgres::REPORTS.fill();
    postgres::REPORTS.try_enter().expect_err("it is full");
    postgres::CHECKOUT.close();
    postgres::CHECKOUT.try_enter().expect_err("it is closed");
    let s = postgres.snapshot();
    assert_eq!((s.rejected.full, s.rejected.closed), (1, 1));
    drop(full);
    assert_eq!(postgres.snapshot().outcomes.success, 2);
}
