use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(consecutive_failures = 5))]
static REPORT: Partition;

fn main() {}
