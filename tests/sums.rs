//! The sum of a dependency while the program runs: nothing that is changed from outside breaks it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bulkhead_runtime::{
    ConfigureError, Dependency, Overrides, PolicyError, Problem, configure, dependency, test,
    verify,
};

/// 112 may be taken by 4 replicas: 28 by each.
#[dependency(capacity = 120, spare = 8, replicas = 4)]
mod warehouse {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "sum-checkout", max = 20, queue = 4, wait = 25ms)]
    pub(crate) static CHECKOUT: Partition;

    #[partition(name = "sum-reports", max = 7, reserve = 2, per_key = 3)]
    pub(crate) static REPORTS: Partition;
}

#[dependency(capacity = 8, replicas = 2)]
mod archive {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "sum-scans", max = 2)]
    pub(crate) static SCANS: Partition;

    #[partition(name = "sum-prints", max = 2)]
    pub(crate) static PRINTS: Partition;
}

fn warehouse() -> &'static Dependency {
    dependency("warehouse").expect("it is declared above")
}

fn say(text: &str) -> Result<(), ConfigureError> {
    configure(Overrides::from_text(text))
}

fn maxima() -> (u64, u64) {
    let max = |partition: &bulkhead_runtime::Partition| partition.snapshot().max;
    (max(&warehouse::CHECKOUT), max(&warehouse::REPORTS))
}

#[test]
fn a_share_cannot_grow_beyond_what_is_left() {
    let _isolated = test::isolate();
    let error = warehouse::REPORTS.resize(9).expect_err("20 and 9 are 29");
    assert_eq!(
        error.to_string(),
        "`warehouse` is over by 4: its partitions take 29 in each of 4 replicas, 116 in all, \
         and `capacity = 120` less `spare = 8` leaves 112"
    );
    assert_eq!(maxima(), (20, 7), "nothing was changed");
    warehouse::REPORTS.resize(8).expect("28 of 28");
    warehouse::CHECKOUT.resize(21).expect_err("all is given");
    warehouse::CHECKOUT.resize(5).expect("fewer");
    warehouse::REPORTS
        .resize(23)
        .expect("what the other has given up");
    assert_eq!((warehouse().sum(), warehouse().share()), (28, 28));
}

#[test]
fn a_share_cannot_shrink_below_its_reserve_or_its_keys() {
    let _isolated = test::isolate();
    let error = warehouse::REPORTS.resize(2).expect_err("2 are the reserve");
    assert!(
        matches!(error, PolicyError::ReserveNotBelowMax { .. }),
        "{error}"
    );
    let told = say("sum-reports: max=2").expect_err("the same rule");
    assert!(
        matches!(
            told.problems(),
            [Problem::Illegal {
                error: PolicyError::ReserveNotBelowMax { .. },
                ..
            }]
        ),
        "{told}"
    );
    warehouse::REPORTS
        .resize(3)
        .expect("3 for a key, 1 beside the reserve");
}

#[test]
fn shares_can_be_exchanged_in_one_step_and_in_no_other() {
    let _isolated = test::isolate();
    say("sum-reports: max=20").expect_err("first one, then the other: 40");
    say("sum-reports: max=20; sum-checkout: max=8").expect("28 of 28 at once");
    assert_eq!(maxima(), (8, 20));
}

#[test]
fn a_broken_sum_is_told_with_everything_else_and_nothing_is_applied() {
    let _isolated = test::isolate();
    let error = say("sum-checkout: max=30 queue=2; sum-unknown: max=1; sum-reports: mode=off")
        .expect_err("two mistakes");
    let told: Vec<_> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{error}");
    assert!(
        told[0].starts_with("unknown partition `sum-unknown`"),
        "{error}"
    );
    assert!(told[1].starts_with("`warehouse` is over by 36"), "{error}");
    let s = warehouse::CHECKOUT.snapshot();
    assert_eq!((s.max, s.queue), (20, 4));
    assert_eq!(
        warehouse::REPORTS.snapshot().mode,
        bulkhead_runtime::Mode::Enforce
    );
}

#[test]
fn a_sum_is_not_told_of_where_the_number_is_wrong_anyway() {
    let _isolated = test::isolate();
    for wrong in ["sum-checkout: max=sevem", "sum-checkout: max=0"] {
        let error = say(&format!("{wrong}; sum-reports: max=20")).expect_err("one mistake");
        assert_eq!(error.problems().len(), 1, "{error}");
    }
}

#[test]
fn replicas_of_an_isolation_end_with_it() {
    let archive = dependency("archive").expect("it is declared above");
    {
        let _isolated = test::isolate();
        archive::SCANS.resize(1).expect("fewer");
        archive::PRINTS.resize(1).expect("fewer");
        say("archive: replicas=4").expect("2 in each of 4");
        assert_eq!(archive.replicas(), 4);
        let _inner = test::isolate();
        assert_eq!(archive.replicas(), 2, "as declared");
    }
    assert_eq!(archive.replicas(), 2, "as declared");
}

#[test]
fn a_dependency_and_a_partition_are_told_apart() {
    let error = say("warehouse: max=1").expect_err("it has none");
    assert!(
        error.to_string().contains("is a dependency of that name"),
        "{error}"
    );
    let error = say("sum-reports: replicas=1").expect_err("it has none");
    assert!(
        error.to_string().contains("is a partition of that name"),
        "{error}"
    );
}

#[test]
fn more_replicas_need_smaller_shares() {
    let _isolated = test::isolate();
    let archive = dependency("archive").expect("it is declared above");
    let error = say("archive: replicas=3").expect_err("4 in each of 3 are 12");
    assert!(error.to_string().contains("over by 4"), "{error}");
    assert!(
        say("archive: replicas=0").is_err(),
        "there is at least this one"
    );
    say("archive: replicas=4; sum-scans: max=1; sum-prints: max=1").expect("2 in each of 4");
    assert_eq!(
        (archive.replicas(), archive.share(), archive.sum()),
        (4, 2, 2)
    );
    archive::SCANS
        .resize(2)
        .expect_err("the sum goes by the replicas that hold");
    verify().expect("it fits");
}

#[test]
fn no_two_changes_at_once_exceed_the_sum() {
    // Not isolated: the threads shall meet.
    warehouse::CHECKOUT.resize(4).expect("fewer");
    warehouse::REPORTS.resize(4).expect("fewer");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let sum = warehouse().sum();
                assert!(sum <= 28, "{sum} of 28");
            }
        });
        let changes = [
            scope.spawn(|| {
                let mut grown = 0;
                for _ in 0..2_000 {
                    grown += u32::from(warehouse::CHECKOUT.resize(24).is_ok());
                    warehouse::CHECKOUT.resize(4).expect("fewer");
                }
                grown
            }),
            scope.spawn(|| {
                let mut grown = 0;
                for _ in 0..2_000 {
                    grown += u32::from(warehouse::REPORTS.resize(23).is_ok());
                    warehouse::REPORTS.resize(4).expect("fewer");
                }
                grown
            }),
        ];
        // The watcher ends whatever has become of them.
        let grown = changes.map(thread::ScopedJoinHandle::join);
        stop.store(true, Ordering::Relaxed);
        for grown in grown {
            assert!(grown.expect("no panic") > 0, "each has had its turn");
        }
    });
    warehouse::REPORTS.resize(4).expect("fewer");
    warehouse::CHECKOUT.resize(20).expect("as declared");
    warehouse::REPORTS.resize(7).expect("as declared");
}
