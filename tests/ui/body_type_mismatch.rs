use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4)]
async fn report() -> Result<u32, BulkheadError> {
    let count: u32 = "four";
    Ok(count)
}

fn main() {}
