use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 2s, deadline = 1s, breaker(slow = 3s, slow_rate = 0%, window = 1ms))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
