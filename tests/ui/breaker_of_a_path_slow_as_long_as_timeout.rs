use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4, breaker(slow = 500ms))]
static REPORT: Partition;

#[bulkhead(REPORT, timeout = 500ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
