use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 7, per_key = 3)]
async fn report() -> Result<(), BulkheadError> {
    Ok(())
}

fn main() {}
