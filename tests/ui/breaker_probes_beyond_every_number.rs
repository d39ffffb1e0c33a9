use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(probes = 99999999999999999999))]
static REPORT: Partition;

fn main() {}
