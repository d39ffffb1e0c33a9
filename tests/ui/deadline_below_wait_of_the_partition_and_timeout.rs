use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4, queue = 8, wait = 25ms)]
static REPORT: Partition;

#[bulkhead(REPORT, timeout = 2s, deadline = 2s, margin = 150ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
