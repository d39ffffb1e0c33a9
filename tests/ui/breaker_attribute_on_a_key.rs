use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(#[cfg(x)] probes = 2))]
static REPORT: Partition;

fn main() {}
