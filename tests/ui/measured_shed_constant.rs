use bulkhead_runtime::{Partition, partition};

const SHED: u32 = 1;

#[partition(name = "report", max = 7, measured(rate = 40, mean = 50ms, shed = SHED))]
static REPORT: Partition;

fn main() {}
