use bulkhead_runtime::{Partition, partition};

const RATE: f64 = 0.5;

#[partition(name = "report", max = 7, measured(rate = RATE, mean = 50ms))]
static REPORT: Partition;

fn main() {}
