use std::time::Duration;

use bulkhead_runtime::{BulkheadError, bulkhead};

const SHORT: Duration = Duration::from_micros(500);

#[bulkhead(name = "report", max = 4, deadline = SHORT)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
