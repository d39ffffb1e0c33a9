use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4)]
fn report() -> impl Future<Output = Result<u32, BulkheadError>> {
    async { Ok(1) }
}

fn main() {}
