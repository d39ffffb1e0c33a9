use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, reserve = -1)]
static REPORT: Partition;

fn main() {}
