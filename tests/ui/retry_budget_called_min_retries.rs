use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(min_retries = 3))]
static REPORT: Partition;

fn main() {}
