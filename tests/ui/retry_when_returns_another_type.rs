use bulkhead_runtime::{BulkheadError, bulkhead};

fn weight(_: &BulkheadError) -> u32 {
    1
}

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = weight))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
