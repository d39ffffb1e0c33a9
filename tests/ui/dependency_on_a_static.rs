use bulkhead_runtime::{Partition, dependency};

#[dependency(capacity = 30, replicas = 4)]
#[bulkhead_runtime::partition(name = "checkout", max = 7)]
static CHECKOUT: Partition;

fn main() {}
