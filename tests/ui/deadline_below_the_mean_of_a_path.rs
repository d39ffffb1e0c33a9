use bulkhead_runtime::{BulkheadError, Partition, bulkhead, partition};

#[partition(name = "report", max = 8, measured(rate = 20, mean = 80ms))]
static REPORT: Partition;

#[bulkhead(REPORT, deadline = 200ms, margin = 150ms)]
async fn report() -> Result<(), BulkheadError> {
    Ok(())
}

fn main() {}
