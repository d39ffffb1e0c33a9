use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "Report", max = 0, queue = 8.0, wait = 0ms, timeout = 500)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
