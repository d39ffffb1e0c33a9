use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, breaker(minimum_number_of_calls = 20))]
static REPORT: Partition;

fn main() {}
