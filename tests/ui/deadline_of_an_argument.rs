use std::time::Duration;

use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, deadline = left)]
async fn report(left: Duration) -> Result<Duration, BulkheadError> {
    Ok(left)
}

fn main() {}
