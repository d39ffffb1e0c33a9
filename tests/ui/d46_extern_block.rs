use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
unsafe extern "C" {}

fn main() {}
