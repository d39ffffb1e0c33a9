use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget)]
static REPORT: Partition;

fn main() {}
