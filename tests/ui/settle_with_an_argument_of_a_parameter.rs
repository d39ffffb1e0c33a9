use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, settle)]
async fn report<T: Into<u32>>(branch: T) -> Result<u32, BulkheadError> {
    Ok(branch.into())
}

fn main() {}
