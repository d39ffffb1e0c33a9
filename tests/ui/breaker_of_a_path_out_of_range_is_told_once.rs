use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 4, breaker(probes = 0, slow = 2s))]
static REPORT: Partition;

#[bulkhead(REPORT, timeout = 500ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
