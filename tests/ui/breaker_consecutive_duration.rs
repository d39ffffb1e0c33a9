use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(consecutive = 5s))]
static REPORT: Partition;

fn main() {}
