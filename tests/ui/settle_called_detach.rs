use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, detach)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
