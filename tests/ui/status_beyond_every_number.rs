use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, status = 99999999)]
static REPORT: Partition;

fn main() {}
