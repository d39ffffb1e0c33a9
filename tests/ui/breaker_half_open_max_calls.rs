use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(half_open_max_calls = 2))]
static REPORT: Partition;

fn main() {}
