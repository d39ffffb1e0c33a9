use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(probes = 0))]
static REPORT: Partition;

fn main() {}
