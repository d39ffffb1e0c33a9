use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(failure_rate = 50%, colour = 1))]
static REPORT: Partition;

fn main() {}
