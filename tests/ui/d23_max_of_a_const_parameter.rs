use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = N)]
async fn report<const N: u32>() -> Result<u32, BulkheadError> {
    Ok(N)
}

fn main() {}
