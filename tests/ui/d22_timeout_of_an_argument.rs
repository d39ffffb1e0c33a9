use bulkhead_runtime::{BulkheadError, bulkhead};

use std::time::Duration;

#[bulkhead(name = "report", max = 4, timeout = limit)]
async fn report(limit: Duration) -> Result<u32, BulkheadError> {
    Ok(limit.subsec_nanos())
}

fn main() {}
