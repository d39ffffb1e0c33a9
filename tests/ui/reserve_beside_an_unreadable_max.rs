use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = "4", reserve = 9)]
static REPORT: Partition;

fn main() {}
