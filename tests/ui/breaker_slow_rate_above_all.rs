use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(slow = 2s, slow_rate = 101%))]
static REPORT: Partition;

fn main() {}
