use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(colour = 1))]
static REPORT: Partition;

fn main() {}
