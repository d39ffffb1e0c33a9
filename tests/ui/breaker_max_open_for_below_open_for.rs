use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(open_for = 1m, max_open_for = 30s))]
static REPORT: Partition;

fn main() {}
