//! A subscriber of `tracing` that is installed after the first use of a partition. In a process of its own:
//! whether anybody listens is one thing for all.

#![expect(clippy::disallowed_types, reason = "a listener may lock as it likes")]

mod common;

use std::sync::{Arc, Mutex};

use common::plain;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Default, Clone)]
struct Levels(Arc<Mutex<Vec<Level>>>);

impl Subscriber for Levels {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("bulkhead_runtime")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = *event.metadata().level();
        self.0.lock().expect("held for a moment").push(level);
    }
}

#[test]
fn it_is_noticed_at_the_next_rejection() {
    let partition = plain("late-subscriber", 1);
    drop(partition.try_enter().expect("it is free"));
    let levels = Levels::default();
    tracing::subscriber::set_global_default(levels.clone()).expect("the only one");

    let held = partition.try_enter().expect("it is free");
    partition.try_enter().expect_err("it is full");
    let told = std::mem::take(&mut *levels.0.lock().expect("held for a moment"));
    assert_eq!(told, [Level::DEBUG, Level::WARN], "saturated, and rejected");
    drop(held);
    let told = std::mem::take(&mut *levels.0.lock().expect("held for a moment"));
    assert_eq!(told, [Level::DEBUG], "relieved");
}
