use bulkhead_runtime::{BulkheadError, bulkhead};

fn cores() -> u32 {
    4
}

#[bulkhead(name = "report", max = cores())]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
