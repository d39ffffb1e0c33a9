use bulkhead_runtime::partition;

#[partition(name = "report", max = 4)]
static REPORT: u32;

fn main() {}
