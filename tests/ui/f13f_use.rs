use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f13f", max = 4)]
pub use std::collections::BTreeMap as F13Use;

fn main() {}
