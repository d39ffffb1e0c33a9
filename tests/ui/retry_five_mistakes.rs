use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 0ms, retry(attempts = 1, backoff = 40, cap = "1s", when = 5))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
