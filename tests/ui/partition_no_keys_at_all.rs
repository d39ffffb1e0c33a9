use bulkhead_runtime::{Partition, partition};

#[partition]
static REPORT: Partition;

fn main() {}
