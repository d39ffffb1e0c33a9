use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 7, measured(rate = 40, mean = 50ms), measured(rate = 4, mean = 50ms))]
static REPORT: Partition;

fn main() {}
