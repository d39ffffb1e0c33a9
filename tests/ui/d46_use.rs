use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
pub use std::collections::BTreeMap as Reports;

fn main() {}
