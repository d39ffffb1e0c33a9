use bulkhead_runtime::{BulkheadError, bulkhead};

use std::time::Duration;

const LIMIT: Duration = Duration::from_micros(500);

#[bulkhead(name = "report", max = 4, timeout = LIMIT)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
