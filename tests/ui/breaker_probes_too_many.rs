use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(probes = 1001))]
static REPORT: Partition;

fn main() {}
