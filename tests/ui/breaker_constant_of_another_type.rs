use bulkhead_runtime::{Partition, partition};

const PROBES: u64 = 2;

#[partition(name = "report", max = 4, breaker(probes = PROBES))]
static REPORT: Partition;

fn main() {}
