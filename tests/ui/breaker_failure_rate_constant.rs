use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(failure_rate = LIMIT))]
static REPORT: Partition;

fn main() {}
