use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(window = 2h))]
static REPORT: Partition;

fn main() {}
