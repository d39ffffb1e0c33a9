use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry_budget(ttl = 10s))]
static REPORT: Partition;

fn main() {}
