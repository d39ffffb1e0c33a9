use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, timeout = 2s)]
static REPORT: Partition;

fn main() {}
