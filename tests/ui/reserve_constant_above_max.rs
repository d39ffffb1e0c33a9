use bulkhead_runtime::{Partition, partition};

const MAX: u32 = 4;

#[partition(name = "report", max = MAX, reserve = MAX + 1)]
static REPORT: Partition;

fn main() {}
