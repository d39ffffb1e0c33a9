use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 500, deadline = 0s, margin = "150ms", breaker(probes = 0, colour = 1))]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
