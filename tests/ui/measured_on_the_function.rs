use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 7, measured(rate = 40, mean = 50ms))]
async fn report() -> Result<(), BulkheadError> {
    Ok(())
}

fn main() {}
