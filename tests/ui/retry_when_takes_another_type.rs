use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_even(number: &u32) -> bool {
    number % 2 == 0
}

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = is_even))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
