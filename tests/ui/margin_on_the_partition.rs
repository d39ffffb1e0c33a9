use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, margin = 150ms)]
static REPORT: Partition;

fn main() {}
