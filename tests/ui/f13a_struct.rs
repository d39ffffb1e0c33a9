use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f13a", max = 4)]
pub struct F13Struct;

fn main() {}
