use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
async fn report() -> Option<u32> {
    Some(1)
}

fn main() {}
