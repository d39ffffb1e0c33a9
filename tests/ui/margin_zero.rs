use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 1s, margin = 0ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
