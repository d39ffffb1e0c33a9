use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(slow_rate = 50%))]
static REPORT: Partition;

fn main() {}
