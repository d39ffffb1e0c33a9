use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, reserved = 1)]
static REPORT: Partition;

fn main() {}
