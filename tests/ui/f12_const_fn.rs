use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f12", max = 4)]
pub const fn f12_const() -> u32 {
    1
}

fn main() {}
