use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, replicas = 4)]
static REPORT: Partition;

fn main() {}
