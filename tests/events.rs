//! One event for the first rejection, then at most one a second; what breakers say; and a listener that panics.

#![expect(clippy::disallowed_types, reason = "a listener may lock as it likes")]

mod common;

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulkhead_runtime::{
    Breaker, BreakerPolicy, BulkheadError, Deadline, Policy, Verdict, bulkhead, dependency,
    partition, register,
};
use common::{assert_idle, hangs_or_not, ms, plain, queued};
use tokio::time::advance;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

type Fields = BTreeMap<&'static str, String>;

/// Keeps the fields of every event, or panics.
#[derive(Default, Clone)]
struct Listener {
    heard: Arc<Mutex<Vec<Fields>>>,
    panics: bool,
    /// Up to which level it listens; warnings, if nothing is said.
    level: Option<Level>,
    /// Looks at a dependency while it is told.
    looks: bool,
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span()
            && *metadata.level() <= self.level.unwrap_or(Level::WARN)
            && metadata.target().starts_with("bulkhead_runtime")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        assert!(!self.panics, "a listener that panics");
        if self.looks {
            let store = dependency("store").expect("it is declared below");
            assert_eq!(store.sum(), 3, "as declared");
            store
                .partitions()
                .for_each(|share| share.resize(1).expect("fewer"));
        }
        let mut fields = Keep::default();
        let level = event.metadata().level().as_str();
        fields.0.insert("level", level.to_owned());
        event.record(&mut fields);
        self.heard
            .lock()
            .expect("nobody panics while it is held")
            .push(fields.0);
    }
}

#[derive(Default)]
struct Keep(Fields);

impl Visit for Keep {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Listener {
    fn take(&self) -> Vec<Fields> {
        std::mem::take(&mut self.heard.lock().expect("nobody panics while it is held"))
    }
}

#[bulkhead(name = "storm", max = 1)]
async fn annotated() -> Result<(), BulkheadError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_overload_is_not_a_storm_of_events() {
    let listener = Listener::default();
    let _listening = tracing::subscriber::set_default(listener.clone());
    let storm = partition("storm").unwrap();
    let held = storm.try_enter().unwrap();

    for _ in 0..100 {
        annotated().await.unwrap_err();
    }
    let [first] = &listener.take()[..] else {
        panic!("one event for a hundred rejections in one moment")
    };
    let expected = [
        ("level", "WARN"),
        ("partition", "storm"),
        ("function", "events::annotated"),
        ("reason", "full"),
        ("in_flight", "1"),
        ("max", "1"),
        ("waiting", "0"),
        ("queue", "0"),
        ("suppressed", "0"),
        ("message", "call rejected"),
    ];
    assert_eq!(
        *first,
        expected
            .map(|(field, value)| (field, value.to_owned()))
            .into()
    );

    advance(ms(999)).await;
    annotated().await.unwrap_err();
    assert!(listener.take().is_empty(), "less than a second later");
    advance(ms(1)).await;
    annotated().await.unwrap_err();
    assert_eq!(
        listener.take()[0]["suppressed"],
        "100",
        "99 at once and one later were not told"
    );

    let neighbour = queued("storm-neighbour", 1, 1, ms(5));
    let held_there = neighbour.try_enter().unwrap();
    neighbour.enter().await.unwrap_err();
    let told = listener.take();
    assert_eq!(
        (told[0]["partition"].as_str(), told[0]["reason"].as_str()),
        ("storm-neighbour", "wait_timeout")
    );
    assert!(!told[0].contains_key("function"), "taken by hand");
    drop((held, held_there));
}

#[tokio::test(start_paused = true)]
async fn timeouts_are_sampled_apart_from_rejections() {
    let listener = Listener::default();
    let _listening = tracing::subscriber::set_default(listener.clone());
    let partition = plain("storm-of-timeouts", 1);
    let hangs = || {
        let hangs = partition.call(std::future::pending::<()>());
        hangs.timeout(ms(100))
    };
    for _ in 0..10 {
        hangs().await.expect_err("it hangs");
    }
    let held = partition.try_enter().expect("it is free");
    partition.try_enter().expect_err("it is full");
    drop(held);
    hangs().await.expect_err("it hangs");
    let told: Vec<_> = listener
        .take()
        .iter()
        .map(|event| (event["reason"].clone(), event["suppressed"].clone()))
        .collect();
    let expected = [("call_timeout", "0"), ("full", "0"), ("call_timeout", "9")];
    assert_eq!(told, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn saturation_is_worth_a_line_when_it_lasts() {
    let listener = Listener {
        level: Some(Level::DEBUG),
        ..Listener::default()
    };
    let _listening = tracing::subscriber::set_default(listener.clone());
    let partition = plain("saturated-for-long", 1);
    for millis in [999, 1_000] {
        let held = partition.try_enter().expect("it is free");
        advance(ms(millis)).await;
        drop(held);
    }
    partition.close();
    partition.close();
    partition.reopen();
    let told: Vec<_> = listener
        .take()
        .iter()
        .map(|event| {
            assert_eq!(event["partition"], "saturated-for-long");
            let after = event.get("after_ms").map_or("", String::as_str);
            let said = [&event["level"], &event["message"], after].join(" ");
            said.trim_end().to_owned()
        })
        .collect();
    assert_eq!(
        told,
        [
            "DEBUG saturated",
            "DEBUG relieved 999",
            "DEBUG saturated",
            "INFO relieved 1000",
            "INFO closed",
            "INFO reopened"
        ]
    );
}

fn said(event: &Fields, fields: &[&str]) -> Vec<String> {
    let value = |field: &&str| event.get(*field).cloned();
    fields.iter().filter_map(value).collect()
}

#[tokio::test(start_paused = true)]
async fn a_breaker_is_worth_a_warning_when_it_opens() {
    const TOUCHY: BreakerPolicy = BreakerPolicy::new()
        .with_consecutive(2)
        .with_open_for(Duration::from_secs(10))
        .with_probes(1);
    let listener = Listener {
        level: Some(Level::INFO),
        ..Listener::default()
    };
    let _listening = tracing::subscriber::set_default(listener.clone());
    let policy = Policy::new(2).with_breaker(TOUCHY);
    let partition = register("events-breaker", policy).expect("its own");
    let breaker: &Breaker = partition.breaker().expect("it has one");
    let call = |verdict| partition.call(ready(())).classify(move |&()| verdict);
    let transition = ["level", "function", "from", "to", "message"];
    let take = || {
        let mut told = listener.take();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["partition"], "events-breaker");
        told.remove(0)
    };

    for _ in 0..2 {
        call(Verdict::Failure).await.expect("the body runs");
    }
    let opened = take();
    let expected = ["WARN", "closed", "open", "breaker: 2 calls in a row failed"];
    assert_eq!(said(&opened, &transition), expected);
    let open_for: u64 = opened["open_for_ms"].parse().expect("whole milliseconds");
    assert!((10_000..12_000).contains(&open_for), "{opened:?}");

    call(Verdict::Success).await.expect_err("it is open");
    let rejected = take();
    let fields = ["level", "function", "reason", "in_flight", "suppressed"];
    assert_eq!(said(&rejected, &fields), ["WARN", "breaker_open", "0"]);
    assert_eq!(rejected["message"], "call rejected");
    let retry_after: u64 = rejected["retry_after_ms"].parse().expect("the time");
    assert_eq!(retry_after, open_for, "no time has passed");

    advance(ms(open_for + 1)).await;
    call(Verdict::Success).await.expect("a probe");
    let told = listener.take();
    let told: Vec<_> = told.iter().map(|event| said(event, &transition)).collect();
    let expected = [
        [
            "INFO",
            "open",
            "half_open",
            "breaker: the cool-down is over",
        ],
        [
            "INFO",
            "half_open",
            "closed",
            "breaker: the probes succeeded",
        ],
    ];
    assert_eq!(told, expected);

    breaker.force_open();
    let forced = take();
    let expected = ["WARN", "closed", "forced_open", "breaker: by hand"];
    assert_eq!(said(&forced, &transition), expected);
    assert!(!forced.contains_key("open_for_ms"), "until it is undone");
    breaker.disable();
    let expected = ["INFO", "forced_open", "disabled", "breaker: by hand"];
    assert_eq!(said(&take(), &transition), expected);
}

#[bulkhead(name = "events-breaker-own", max = 2, timeout = 1s, breaker(consecutive = 1))]
async fn under_its_own() -> Result<(), BulkheadError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_breaker_of_one_function_says_whose_it_is() {
    let listener = Listener::default();
    let _listening = tracing::subscriber::set_default(listener.clone());
    let partition = partition("events-breaker-own").expect("declared above");
    let breaker = partition.breakers().next().expect("declared above");
    breaker.force_open();
    under_its_own().await.expect_err("it is open");
    let told = listener.take();
    let of: Vec<_> = told
        .iter()
        .map(|event| said(event, &["function"]))
        .collect();
    assert_eq!(of, [["events::under_its_own"]; 2]);
    assert!(!told[1].contains_key("retry_after_ms"), "nobody knows when");
}

#[bulkhead(name = "events-margin", max = 2, margin = 20ms)]
async fn relies_on_its_caller() -> Result<(), BulkheadError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_margin_without_a_deadline_is_told_at_most_once_a_second() {
    let listener = Listener::default();
    let _listening = tracing::subscriber::set_default(listener.clone());
    let bounded = Deadline::after(ms(100)).scope(relies_on_its_caller());
    bounded.await.expect("it has room");
    assert!(listener.take().is_empty(), "as it should be called");
    for wait in [0, 0, 999, 1] {
        advance(ms(wait)).await;
        relies_on_its_caller().await.expect("it has room");
    }
    let told = listener.take();
    let fields = ["level", "partition", "function", "suppressed", "message"];
    let told: Vec<_> = told.iter().map(|event| said(event, &fields)).collect();
    let line = |suppressed| {
        let message = "`margin` without a deadline: nothing that it could shorten";
        let function = "events::relies_on_its_caller";
        ["WARN", "events-margin", function, suppressed, message]
    };
    assert_eq!(told, [line("0"), line("2")]);
}

#[tokio::test]
async fn a_listener_that_panics_changes_neither_result_nor_counts() {
    let _listening = tracing::subscriber::set_default(Listener {
        panics: true,
        ..Listener::default()
    });
    let partition = plain("panicking-listener", 1);
    let held = partition.try_enter().unwrap();
    let error = partition.try_enter().unwrap_err();
    assert!(
        matches!(error, BulkheadError::Full(_)),
        "the caller gets its rejection"
    );
    drop(held);
    assert_eq!(partition.snapshot().rejected.full, 1);
    assert_idle(partition);
}

mod conflict {
    use bulkhead_runtime::{BulkheadError, bulkhead};

    #[bulkhead(name = "events-conflict", max = 1)]
    pub(super) async fn first() -> Result<(), BulkheadError> {
        Ok(())
    }

    #[bulkhead(name = "events-conflict", max = 2)]
    #[expect(dead_code, reason = "declared is enough")]
    pub(super) async fn second() -> Result<(), BulkheadError> {
        Ok(())
    }
}

#[tokio::test]
async fn two_policies_under_one_name_are_told_when_the_partition_is_first_used() {
    let listener = Listener::default();
    let _listening = tracing::subscriber::set_default(listener.clone());
    conflict::first().await.unwrap();
    conflict::first().await.unwrap();
    let [event] = &listener.take()[..] else {
        panic!("told once")
    };
    assert!(
        event["message"].contains("says max = 1") && event["message"].contains("says max = 2"),
        "{event:?}"
    );
}

/// Declared twice, so that its first use is an event; and nothing has used it before.
#[dependency(capacity = 9, replicas = 1)]
mod store {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "events-store", max = 3)]
    pub(crate) static STORE: Partition;

    pub(super) mod again {
        use bulkhead_runtime::{Partition, partition};

        #[partition(name = "events-store", max = 4)]
        static STORE: Partition;
    }
}

#[test]
fn a_listener_may_look_at_a_dependency_and_change_it() {
    hangs_or_not("a listener that is told under a lock", || {
        let listener = Listener {
            looks: true,
            ..Listener::default()
        };
        let _listening = tracing::subscriber::set_default(listener.clone());
        // Resolves the partition on the way to the sum, which tells the listener of the conflict.
        assert_eq!(dependency("store").expect("it is declared above").sum(), 1);
        assert_eq!(listener.take().len(), 1);
        assert_eq!(store::STORE.snapshot().max, 1, "as the listener has said");
    });
}
