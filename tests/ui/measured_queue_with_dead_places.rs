use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 20, queue = 20, wait = 25ms, measured(rate = 200, mean = 40ms))]
static REPORT: Partition;

fn main() {}
