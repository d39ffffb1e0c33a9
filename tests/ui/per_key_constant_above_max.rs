use bulkhead_runtime::{Partition, partition};

const PER_KEY: u32 = 5;

#[partition(name = "report", max = 4, per_key = PER_KEY)]
static REPORT: Partition;

fn main() {}
