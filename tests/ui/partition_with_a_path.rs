use bulkhead_runtime::{Partition, partition};

#[partition(REPORT, name = "report", max = 4)]
static REPORT: Partition;

fn main() {}
