use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = permits)]
async fn report(permits: u32) -> Result<u32, BulkheadError> {
    Ok(permits)
}

fn main() {}
