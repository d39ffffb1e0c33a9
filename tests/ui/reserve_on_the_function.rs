use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 7, reserve = 2)]
async fn report() -> Result<(), BulkheadError> {
    Ok(())
}

fn main() {}
