use bulkhead_runtime::bulkhead;

use std::pin::Pin;

#[bulkhead(name = "report", max = 4)]
fn report() -> Pin<Box<dyn Future<Output = Result<u32, String>>>> {
    Box::pin(async { Ok(1) })
}

fn main() {}
