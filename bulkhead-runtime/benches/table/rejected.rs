//! A call that finds none, with a queue of 0.

use bulkhead_runtime::partition;

use crate::functions::{guarded_and_full, ready, semaphore_and_full};
use crate::pair::{Goal, Ratio, Row};

const CALLS: u64 = 50_000;

pub(crate) fn rows() -> Vec<Row> {
    let full = partition("rejected").expect("declared beside the function");
    let _held = full.try_enter().expect("it is free");
    vec![Row {
        situation: "rejected, full, queue 0, through the attribute".into(),
        beside: "failed tokio `try_acquire`, counted, error of that size",
        ratio: Ratio::of_pair(
            151,
            || ready(CALLS, guarded_and_full),
            || ready(CALLS, semaphore_and_full),
        ),
        goal: Goal::AtMost(3.0),
    }]
}
