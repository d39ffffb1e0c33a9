use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4)]
static REPORT: Partition;

#[bulkhead(REPORT, breaker())]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
