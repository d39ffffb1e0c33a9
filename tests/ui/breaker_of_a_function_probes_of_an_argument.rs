use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, timeout = 2s, breaker(probes = probes))]
async fn report(probes: u32) -> Result<u32, BulkheadError> {
    Ok(probes)
}

fn main() {}
