use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
async fn report() -> u32 {
    1
}

fn main() {}
