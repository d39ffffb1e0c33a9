use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
static REPORT: u32 = 4;

fn main() {}
