use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
type Report = u32;

fn main() {}
