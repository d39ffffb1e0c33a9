use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(window = 999ms))]
static REPORT: Partition;

fn main() {}
