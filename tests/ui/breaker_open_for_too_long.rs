use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(open_for = 400000h))]
static REPORT: Partition;

fn main() {}
