use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, status = 500)]
static REPORT: Partition;

fn main() {}
