use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, delay = 40ms, when = is_transient))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
