use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(ratio = 0.2))]
static REPORT: Partition;

fn main() {}
