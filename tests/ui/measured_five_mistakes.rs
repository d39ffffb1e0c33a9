use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 7, measured(rate = -1, mean = 50, shed = 1, colour = 1, rate = 4))]
static REPORT: Partition;

fn main() {}
