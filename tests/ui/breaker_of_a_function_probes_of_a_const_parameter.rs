use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 2s, breaker(probes = N))]
async fn report<const N: u32>() -> Result<u32, BulkheadError> {
    Ok(N)
}

fn main() {}
