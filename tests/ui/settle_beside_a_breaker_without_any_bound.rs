use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, settle, breaker())]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
