use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 0)]
static REPORT: Partition;

fn main() {}
