use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

#[bulkhead_runtime::partition(name = "reports", max = 4, queue = 8, wait = 40ms)]
static REPORTS: bulkhead_runtime::Partition;

#[bulkhead(REPORTS, timeout = 600ms, deadline = 1.5s, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
