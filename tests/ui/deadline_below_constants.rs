use std::time::Duration;

use bulkhead_runtime::{BulkheadError, bulkhead};

const QUEUE: u32 = 2;
const WAIT: Duration = Duration::from_millis(100);
const MARGIN: Duration = Duration::from_millis(10);

#[bulkhead(
    name = "report", max = 4, queue = QUEUE, wait = WAIT, timeout = WAIT.saturating_mul(4),
    deadline = WAIT.saturating_mul(5), margin = MARGIN,
)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
