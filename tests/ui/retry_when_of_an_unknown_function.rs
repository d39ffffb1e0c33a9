use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
