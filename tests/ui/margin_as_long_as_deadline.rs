use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, deadline = 2s, margin = 2s)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
