use bulkhead_runtime::{BulkheadError, bulkhead};

const LIMIT: u32 = 4;

#[bulkhead(name = "report", max = LIMIT - 4)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
