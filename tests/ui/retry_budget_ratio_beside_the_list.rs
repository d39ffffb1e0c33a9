use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, ratio = 20%)]
static REPORT: Partition;

fn main() {}
