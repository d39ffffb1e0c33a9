use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(min = 1001))]
static REPORT: Partition;

fn main() {}
