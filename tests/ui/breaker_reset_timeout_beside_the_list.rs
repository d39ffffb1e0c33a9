use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, reset_timeout = 30s)]
static REPORT: Partition;

fn main() {}
