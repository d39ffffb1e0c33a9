use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 7, rate = 40)]
static REPORT: Partition;

fn main() {}
