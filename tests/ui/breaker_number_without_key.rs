use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(20))]
static REPORT: Partition;

fn main() {}
