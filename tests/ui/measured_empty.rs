use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 7, measured())]
static REPORT: Partition;

fn main() {}
