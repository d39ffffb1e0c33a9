use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(nme = "report", max = 4i32, queue = -1, timeout = 0s, colour = 1)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
