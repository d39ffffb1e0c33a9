use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(failure_rate = 50% window = 10s))]
static REPORT: Partition;

fn main() {}
