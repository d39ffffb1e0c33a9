use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4)]
static REPORT: Partition = todo!();

fn main() {}
