use bulkhead_runtime::{BulkheadError, bulkhead};

#[tokio::main]
#[bulkhead(name = "report", max = 4)]
async fn main() -> Result<(), BulkheadError> {
    Ok(())
}
