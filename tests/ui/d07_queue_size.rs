use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, queue_size = 8, wait = 25ms)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
