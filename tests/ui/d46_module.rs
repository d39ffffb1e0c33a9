use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
mod reports {}

fn main() {}
