use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 99999999999999999999h)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
