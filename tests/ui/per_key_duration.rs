use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, per_key = 3ms)]
static REPORT: Partition;

fn main() {}
