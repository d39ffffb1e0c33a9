use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "user-{id}", max = 4)]
async fn report(id: u32) -> Result<u32, BulkheadError> {
    Ok(id)
}

fn main() {}
