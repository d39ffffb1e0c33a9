use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, per_key = 0)]
static REPORT: Partition;

fn main() {}
