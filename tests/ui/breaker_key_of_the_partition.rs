use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(queue = 8))]
static REPORT: Partition;

fn main() {}
