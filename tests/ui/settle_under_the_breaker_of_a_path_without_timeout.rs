use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead_runtime::partition(name = "carrier", max = 4, breaker())]
static CARRIER: bulkhead_runtime::Partition;

#[bulkhead(CARRIER, deadline = 2s, settle)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
