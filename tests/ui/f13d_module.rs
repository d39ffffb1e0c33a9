use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f13d", max = 4)]
pub mod f13_module {}

fn main() {}
