use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, retry_budget(ratio = 20%))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
