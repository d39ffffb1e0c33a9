use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 2, queue = 4, wait = 200ms, measured(rate = 40, mean = 50ms))]
static REPORT: Partition;

fn main() {}
