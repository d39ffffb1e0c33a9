use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 7, measured(rate = 40, mean = 50ms, shed = 100%))]
static REPORT: Partition;

fn main() {}
