use bulkhead_runtime::partition;

#[partition(name = "report", max = 4)]
const REPORT: u32 = 4;

fn main() {}
