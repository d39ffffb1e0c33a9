use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, fallback = cached(error))]
static REPORT: Partition;

fn main() {}
