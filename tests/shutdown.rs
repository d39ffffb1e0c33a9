//! The end of a whole process, where nothing is isolated: one test alone, since it closes everything.

mod common;

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::mpsc;
use std::time::Duration;

use bulkhead_runtime::{
    BulkheadError, Event, Partition, Policy, Reason, bulkhead, drain_all, partition, partitions,
    register, snapshots, spawn, subscribe,
};
use common::{ms, plain};
use tokio::task::yield_now;
use tokio::time::sleep;

#[partition(name = "shutdown-unused", max = 1)]
static UNUSED: Partition;

#[bulkhead(name = "shutdown-request", max = 8)]
async fn request() -> Result<(), BulkheadError> {
    sleep(ms(50)).await;
    UNUSED.call(sleep(ms(50))).await
}

#[tokio::test(start_paused = true)]
async fn a_process_comes_to_its_end_and_says_what_it_left() {
    let (tell, told) = mpsc::channel();
    subscribe(move |event: &Event<'_>| {
        if let Event::Closed { partition, .. } = event {
            tell.send(partition.name()).expect("the test listens");
        }
    });
    let hangs = plain("shutdown-hangs", 1);
    let hanging = tokio::spawn(hangs.call(pending::<()>()));
    let under_way = tokio::spawn(request());
    yield_now().await;

    let drain = drain_all(Duration::from_secs(3));
    let mut times = BTreeMap::new();
    for name in told.try_iter() {
        *times.entry(name).or_insert(0) += 1;
    }
    let once = partitions()
        .map(|partition| (partition.name(), 1))
        .collect();
    assert_eq!(times, once, "all of them, used or not");
    for s in snapshots() {
        assert!(s.is_closed && s.is_draining, "{s:?}");
    }

    let late = register("shutdown-late", Policy::new(1)).expect("a new name");
    assert_eq!(late.try_enter().unwrap_err().reason(), Reason::Closed);
    let newcomer = hangs.try_enter().expect_err("it is closed, and full");
    assert_eq!(newcomer.reason(), Reason::Closed);
    let drained = drain.await;
    assert_eq!(
        drained.to_string(),
        "1 call left after 3s: `shutdown-hangs`: 1 in flight, closed for 3s"
    );
    under_way
        .await
        .unwrap()
        .expect("it made its call to the end");

    hanging.abort();
    let drained = drain_all(Duration::from_secs(3)).await;
    assert!(drained.is_complete(), "{drained}");
    assert_eq!(told.try_iter().count(), 0, "nothing is told twice");

    // Taken back, one after the other: what is made from here on drains all the same.
    for partition in partitions() {
        partition.reopen();
    }
    UNUSED
        .call(async { spawn(late.call(async {})).await })
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let later = register("shutdown-later", Policy::new(1)).expect("a new name");
    assert!(later.snapshot().is_draining);
}
