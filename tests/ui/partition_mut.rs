use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4)]
static mut REPORT: Partition;

fn main() {}
