use bulkhead_runtime::{Partition, partition};

#[partition(name = "Report", max = 0, queue = -1, wait = 25, colour = 1)]
static REPORT: Partition;

fn main() {}
