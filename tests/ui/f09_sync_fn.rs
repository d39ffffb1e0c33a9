use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "f09", max = 4)]
pub fn f09_sync() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
