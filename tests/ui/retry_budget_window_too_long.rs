use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(window = 2h))]
static REPORT: Partition;

fn main() {}
