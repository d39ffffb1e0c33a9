use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "one", max = 0)]
async fn one() -> Result<u32, BulkheadError> {
    two().await
}

#[bulkhead(name = "two", mx = 4)]
async fn two() -> Result<u32, BulkheadError> {
    three()
}

#[bulkhead(name = "three", max = 4)]
fn three() -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(name = "four", max = 4, timeout = 500)]
async fn four() -> Result<u32, BulkheadError> {
    one().await
}

#[bulkhead(name = "five", max = 4, queue = 8)]
async fn five() -> Result<u32, BulkheadError> {
    four().await
}

fn main() {}
