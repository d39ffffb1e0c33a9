use bulkhead_runtime::{BulkheadError, bulkhead};

const LIMIT: usize = 4;

#[bulkhead(name = "report", max = LIMIT)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
