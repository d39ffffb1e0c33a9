use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(), breaker(probes = 1))]
static REPORT: Partition;

fn main() {}
