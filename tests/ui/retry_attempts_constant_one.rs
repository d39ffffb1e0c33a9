use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

const ONCE: u32 = 1;

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = ONCE, backoff = 40ms, when = is_transient))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
