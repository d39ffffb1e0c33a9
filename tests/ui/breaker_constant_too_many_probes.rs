use bulkhead_runtime::{Partition, partition};

const PROBES: u32 = 501;

#[partition(name = "report", max = 4, breaker(probes = PROBES * 2))]
static REPORT: Partition;

fn main() {}
