use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4, queue = 8, wait = 1s)]
static REPORT: Partition;

#[bulkhead(REPORT, deadline = 1s)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
