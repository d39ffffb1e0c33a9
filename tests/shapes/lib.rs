//! The acceptance shapes, with and without the attribute: each module is `signatures.rs` in
//! another variant.
#![cfg_attr(not(compare_lints), allow(clippy::all))]

pub use std::future::pending;

use bulkhead_runtime::{partition, Partition};

#[partition(name = "shared.first", max = 64)]
pub static FIRST: Partition;
#[partition(name = "shared.second", max = 64, queue = 8, wait = 25ms)]
pub static SECOND: Partition;

#[partition(name = "breaker.first", max = 64, breaker(slow = 1s))]
pub static FIRST_WITH_BREAKER: Partition;
#[partition(name = "breaker.second", max = 64, queue = 8, wait = 25ms, breaker())]
pub static SECOND_WITH_BREAKER: Partition;

/// No error is worth another attempt.
pub fn never<E>(_: &E) -> bool {
    false
}

macro_rules! variants {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[allow(dead_code, async_fn_in_trait)]
        #[deny(unused, unreachable_code, unsafe_op_in_unsafe_fn)]
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    )*};
}

variants! {
    /// No attribute.
    plain
    /// `name` and `max`.
    bare
    /// With a `timeout`.
    timed
    /// With a `queue`.
    queued
    /// All take from [`FIRST`].
    shared
    /// With a `deadline`, a `margin` and a breaker of their own.
    bounded
    /// All take from [`FIRST_WITH_BREAKER`].
    under_breaker
    /// With a fallback that never answers: it is only compiled.
    falls_back
    /// With a second attempt, which is not made, where the arguments can be had again.
    retried
}
