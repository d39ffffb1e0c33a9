use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(min = 3, min = 4))]
static REPORT: Partition;

fn main() {}
