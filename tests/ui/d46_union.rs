use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
union Report {
    bits: u32,
}

fn main() {}
