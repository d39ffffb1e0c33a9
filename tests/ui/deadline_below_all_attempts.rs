use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

#[bulkhead(name = "report", max = 4, queue = 8, wait = 40ms, timeout = 600ms, deadline = 1.5s, margin = 150ms, retry(idempotent, attempts = 3, backoff = 40ms, cap = 60ms, when = is_transient))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
