use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, queue = 8, wait = 1850ms, deadline = 2s, margin = 150ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
