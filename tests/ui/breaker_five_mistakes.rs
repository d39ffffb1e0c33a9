use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(failure_rate = 0%, window = 10, min_calls = -1, colour = 1, probes = 0))]
static REPORT: Partition;

fn main() {}
