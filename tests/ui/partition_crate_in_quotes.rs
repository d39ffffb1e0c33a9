use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, crate = "facade")]
static REPORT: Partition;

fn main() {}
