use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, per_tenant = 2)]
static REPORT: Partition;

fn main() {}
