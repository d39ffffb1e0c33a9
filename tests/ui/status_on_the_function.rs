use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, status = 429)]
async fn report() -> Result<(), BulkheadError> {
    Ok(())
}

fn main() {}
