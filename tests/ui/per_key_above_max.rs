use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, per_key = 5)]
static REPORT: Partition;

fn main() {}
