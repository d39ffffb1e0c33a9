use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(slow = 2, slow_rate = 50%))]
static REPORT: Partition;

fn main() {}
