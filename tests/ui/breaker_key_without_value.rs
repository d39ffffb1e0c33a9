use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(failure_rate))]
static REPORT: Partition;

fn main() {}
