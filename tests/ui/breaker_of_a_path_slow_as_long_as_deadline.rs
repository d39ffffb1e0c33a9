use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4, breaker(slow = 2s))]
static REPORT: Partition;

#[bulkhead(REPORT, deadline = 2s, margin = 150ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
