use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 2s, failure_rate = 50%)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
