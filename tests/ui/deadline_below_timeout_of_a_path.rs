use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4)]
static REPORT: Partition;

#[bulkhead(REPORT, timeout = 2s, deadline = 1s)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
