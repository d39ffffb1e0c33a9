use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(max_open_for = 5s))]
static REPORT: Partition;

fn main() {}
