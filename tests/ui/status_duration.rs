use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, status = 5s)]
static REPORT: Partition;

fn main() {}
