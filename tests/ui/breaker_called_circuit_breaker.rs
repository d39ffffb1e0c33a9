use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, circuit_breaker())]
static REPORT: Partition;

fn main() {}
