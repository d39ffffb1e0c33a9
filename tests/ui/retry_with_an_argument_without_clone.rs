use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

struct Order(u32);

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient))]
async fn report(branch: u32, order: Order) -> Result<u32, BulkheadError> {
    Ok(branch + order.0)
}

fn main() {}
