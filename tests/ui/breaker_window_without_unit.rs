use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(window = 10))]
static REPORT: Partition;

fn main() {}
