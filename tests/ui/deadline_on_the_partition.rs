use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, deadline = 3s)]
static REPORT: Partition;

fn main() {}
