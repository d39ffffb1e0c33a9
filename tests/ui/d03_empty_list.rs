use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead()]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
