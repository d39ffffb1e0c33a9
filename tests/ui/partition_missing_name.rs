use bulkhead_runtime::{Partition, partition};

#[partition(max = 4)]
static REPORT: Partition;

fn main() {}
