use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, queue = 8.0, wait = 25ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
