use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
trait Reports {}

fn main() {}
