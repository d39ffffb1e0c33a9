use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(slow = 0ms))]
static REPORT: Partition;

fn main() {}
