use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(slow = 500us))]
static REPORT: Partition;

fn main() {}
