//! Numbers from operations: all of them or none, and every mistake at once.

mod common;

use std::sync::Arc;
use std::task::{Context, Wake};
use std::thread;
use std::time::Duration;

use bulkhead_runtime::{
    Mode, Override, Overrides, Partition, PolicyError, Problem, configure, partition, verify,
};
use common::{assert_idle, hangs_or_not, ms, plain, poll_once, queued};

fn problems(text: &str) -> Vec<String> {
    let error = configure(Overrides::from_text(text)).expect_err("it is wrong");
    error.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_named_changes_and_the_rest_stays() {
    let report = queued("cfg-report", 4, 2, ms(50));
    let export = plain("cfg-export", 3);
    configure(Overrides::from_text(
        "cfg-report: max=8 wait=25ms; cfg-export: mode=off",
    ))
    .expect("all of it is legal");
    let s = report.snapshot();
    assert_eq!((s.max, s.queue, s.mode), (8, 2, Mode::Enforce));
    let s = export.snapshot();
    assert_eq!((s.max, s.mode), (3, Mode::Off));
    configure(Overrides::from_text("cfg-export: max=5")).expect("legal");
    let s = export.snapshot();
    assert_eq!((s.max, s.mode), (5, Mode::Off), "on top of what holds");
    assert_eq!(report.policy().max(), 4, "the declared policy stays");
}

#[test]
fn every_mistake_is_told_and_nothing_is_applied() {
    let known = plain("cfg-known", 2);
    let told = problems(
        "cfg-known: max=5; cfg-unknown: max=1; cfg-known: mode=off; cfg-zero: max=0; oops; cfg-none:",
    );
    assert_eq!(told.len(), 5, "{told:#?}");
    assert!(
        told[0].starts_with("`oops`: write the name, a colon"),
        "{told:#?}"
    );
    assert!(
        told[1].starts_with("unknown partition `cfg-unknown`; there are `"),
        "{told:#?}"
    );
    assert!(told[1].contains("`cfg-known`"), "{told:#?}");
    assert_eq!(told[2], "`cfg-known` is given twice");
    assert!(
        told[3].starts_with("unknown partition `cfg-zero`"),
        "{told:#?}"
    );
    assert!(
        told[4].starts_with("`cfg-none` is named, and nothing"),
        "{told:#?}"
    );
    assert_eq!(known.snapshot().max, 2, "nothing was applied");

    let error =
        configure(Overrides::from_text("cfg-known: max=0; cfg-x: max=1")).expect_err("wrong");
    assert!(matches!(
        error.problems(),
        [
            Problem::Illegal {
                error: PolicyError::MaxZero,
                ..
            },
            Problem::Unknown { .. }
        ]
    ));
    let text = error.to_string();
    assert!(
        text.starts_with("nothing was configured:\n  `cfg-known`: `max` must be at least 1"),
        "{text}"
    );
    assert_eq!(
        format!("{error:?}"),
        text,
        "a `main` that returns it shows the same"
    );
}

#[tokio::test(start_paused = true)]
async fn a_queue_can_be_given_and_taken_away() {
    let partition = plain("cfg-queue", 1);
    let told = problems("cfg-queue: queue=4");
    assert!(told[0].contains("`queue = 4` needs `wait`"), "{told:?}");
    let told = problems("cfg-queue: wait=25ms");
    assert!(
        told[0].contains("`wait` has no effect without a queue"),
        "{told:?}"
    );

    configure(Overrides::from_text("cfg-queue: queue=1 wait=100ms")).expect("legal");
    let held = partition.try_enter().expect("it is free");
    let mut waits = Box::pin(partition.enter());
    assert!(
        poll_once(waits.as_mut()).is_pending(),
        "there is a queue now"
    );
    assert_eq!(
        partition.try_enter().expect_err("full").to_string(),
        "`cfg-queue` is full: 1 of 1 permits in flight, 1 of 1 queue places taken"
    );

    configure(Overrides::from_text("cfg-queue: queue=0")).expect("legal");
    let s = partition.snapshot();
    assert_eq!((s.queue, s.waiting), (0, 1), "who waits keeps the place");
    assert!(
        poll_once(Box::pin(partition.enter()).as_mut()).is_ready(),
        "and nobody joins"
    );
    drop(held);
    assert!(poll_once(waits.as_mut()).is_ready(), "it was its turn");
    drop(waits);
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_longer_wait_holds_for_those_that_come_from_now_on() {
    let partition = queued("cfg-wait", 1, 2, ms(10));
    let _held = partition.try_enter().expect("it is free");
    let start = tokio::time::Instant::now();
    let mut before = Box::pin(partition.enter());
    assert!(poll_once(before.as_mut()).is_pending());
    configure(Overrides::from_text("cfg-wait: wait=30ms")).expect("legal");
    let mut after = Box::pin(partition.enter());
    assert!(poll_once(after.as_mut()).is_pending());
    before.await.expect_err("its wait is over");
    assert_eq!(start.elapsed(), ms(10));
    after.await.expect_err("its wait is over");
    assert_eq!(start.elapsed(), ms(30));
}

#[test]
fn a_waker_may_change_numbers_itself() {
    struct Resizes(&'static Partition);
    impl Wake for Resizes {
        fn wake(self: Arc<Self>) {
            self.0.resize(5).expect("legal");
        }
    }
    hangs_or_not("a waker that is woken under a lock", || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let _context = runtime.enter();
        for by_configure in [false, true] {
            let partition = queued(&format!("cfg-waker-{by_configure}"), 1, 1, ms(100));
            let _held = partition.try_enter().expect("it is free");
            let waker = Arc::new(Resizes(partition)).into();
            let mut waits = Box::pin(partition.enter());
            assert!(
                waits
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            if by_configure {
                let says = Override::new().max(2);
                configure(Overrides::new().with(partition.name(), says)).expect("legal");
            } else {
                partition.resize(2).expect("legal");
            }
            assert_eq!(
                partition.snapshot().max,
                5,
                "it was woken, and nothing hangs"
            );
        }
    });
}

#[test]
fn a_mode_that_nothing_is_said_of_is_not_undone() {
    let partition = plain("cfg-mode-race", 1);
    thread::scope(|scope| {
        let configures = scope.spawn(|| {
            for max in (1..100).cycle().take(5_000) {
                let says = Override::new().max(max);
                configure(Overrides::new().with("cfg-mode-race", says)).expect("legal");
            }
        });
        while !configures.is_finished() {
            partition.mode(Mode::Off);
            assert_eq!(partition.snapshot().mode, Mode::Off, "it was undone");
            partition.mode(Mode::Enforce);
        }
    });
}

#[test]
fn code_text_and_files_say_the_same() {
    let by_hand = Overrides::new()
        .with("a", Override::new().max(8).wait(ms(25)))
        .with("b", Override::new().queue(3).mode(Mode::Observe))
        .with("c", Override::new().replicas(6));
    let text = Overrides::from_text("a: max=8 wait=25ms; b: queue=3 mode=observe; c: replicas=6");
    assert_eq!(by_hand, text);
    let toml =
        "[a]\nmax = 8\nwait = \"25ms\"\n[b]\nqueue = 3\nmode = \"observe\"\n[c]\nreplicas = 6\n";
    assert_eq!(
        toml::from_str::<Overrides>(toml).expect("it is TOML"),
        by_hand
    );
    let json =
        r#"{"a":{"max":8,"wait":"25ms"},"b":{"queue":3,"mode":"observe"},"c":{"replicas":6}}"#;
    assert_eq!(
        serde_json::from_str::<Overrides>(json).expect("it is JSON"),
        by_hand
    );
    let yaml = "a: {max: 8, wait: 25ms}\nb:\n  queue: 3\n  mode: observe\nc:\n  replicas: 6\n";
    assert_eq!(
        serde_norway::from_str::<Overrides>(yaml).expect("it is YAML"),
        by_hand
    );
}

#[test]
fn a_file_that_is_wrong_says_where_and_what() {
    for (json, expected) in [
        (
            r#"{"a":{"mx":8}}"#,
            "unknown field `mx`, expected one of `max`",
        ),
        (
            r#"{"a":{"wait":"25"}}"#,
            "a time needs a unit: `25ms` or `25s`?",
        ),
        (r#"{"a":{"wait":25}}"#, "expected a string"),
        (
            r#"{"a":{"mode":"on"}}"#,
            "the modes are `enforce`, `observe` and `off`, found `on`",
        ),
        (r#"{"a":{"max":-1}}"#, "expected u32"),
        (r#"{"a":{"max":1},"a":{"max":2}}"#, "`a` is given twice"),
        (r#"["a"]"#, "expected a map from the names of partitions"),
    ] {
        let error = serde_json::from_str::<Overrides>(json).expect_err("it is wrong");
        assert!(error.to_string().contains(expected), "{json}: {error}");
    }
}

#[test]
fn a_partition_of_several_crates_is_named_with_its_crate() {
    #[partition(name = "cfg-ours", max = 2)]
    static OURS: Partition;
    configure(Overrides::from_text("configure/cfg-ours: max=3")).expect("it is qualified");
    assert_eq!(OURS.snapshot().max, 3);
    let told = problems("another/cfg-ours: max=3");
    assert!(
        told[0].starts_with("unknown partition `another/cfg-ours`"),
        "{told:?}"
    );
}

#[test]
fn the_durations_of_a_text_are_those_of_an_attribute() {
    let partition = queued("cfg-durations", 1, 1, ms(5));
    for (text, wait) in [
        ("1.5s", ms(1_500)),
        ("2m", Duration::from_secs(120)),
        ("1h", Duration::from_secs(3_600)),
    ] {
        configure(Overrides::from_text(&format!("cfg-durations: wait={text}"))).expect("legal");
        assert_eq!(partition.snapshot().wait, wait, "{text}");
    }
    let told = problems("cfg-durations: wait=0.1ms");
    assert!(told[0].contains("`wait` must be at least 1 ms"), "{told:?}");
    let told = problems("cfg-durations: wait=9000h");
    assert!(told[0].contains("`wait` is too long"), "{told:?}");
    verify().expect("nothing here is declared twice");
}
