use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f13c", max = 4)]
pub trait F13Trait {}

fn main() {}
