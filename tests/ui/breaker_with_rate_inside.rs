use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(rate = 50%))]
static REPORT: Partition;

fn main() {}
