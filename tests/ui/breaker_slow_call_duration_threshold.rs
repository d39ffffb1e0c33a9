use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(slow_call_duration_threshold = 2s))]
static REPORT: Partition;

fn main() {}
