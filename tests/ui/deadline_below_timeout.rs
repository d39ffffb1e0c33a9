use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 2s, deadline = 2s, margin = 150ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
