use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, settle)]
static REPORT: Partition;

fn main() {}
