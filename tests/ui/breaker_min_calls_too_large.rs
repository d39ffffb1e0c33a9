use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(min_calls = 4294967296))]
static REPORT: Partition;

fn main() {}
