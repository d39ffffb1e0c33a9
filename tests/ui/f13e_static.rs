use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f13e", max = 4)]
pub static F13_STATIC: u32 = 1;

fn main() {}
