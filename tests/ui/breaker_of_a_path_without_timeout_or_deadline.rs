use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4, breaker())]
static REPORT: Partition;

#[bulkhead(REPORT)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
