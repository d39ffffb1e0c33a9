use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, queue = 8, wait = 2s, deadline = 2s)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
