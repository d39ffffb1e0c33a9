use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget = 20%)]
static REPORT: Partition;

fn main() {}
