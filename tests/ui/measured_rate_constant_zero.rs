use bulkhead_runtime::{Partition, partition};

const RATE: u32 = 0;

#[partition(name = "report", max = 7, measured(rate = RATE, mean = 50ms))]
static REPORT: Partition;

fn main() {}
