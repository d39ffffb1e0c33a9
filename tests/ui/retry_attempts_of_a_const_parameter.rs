use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = N, backoff = 40ms, when = is_transient))]
async fn report<const N: u32>() -> Result<u32, BulkheadError> {
    Ok(N)
}

fn main() {}
