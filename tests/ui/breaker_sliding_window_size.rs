use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(sliding_window_size = 10s))]
static REPORT: Partition;

fn main() {}
