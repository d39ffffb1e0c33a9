use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
struct Report;

fn main() {}
