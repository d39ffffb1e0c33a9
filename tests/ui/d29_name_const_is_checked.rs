use bulkhead_runtime::{BulkheadError, bulkhead};

const NAME: &str = "Report";

#[bulkhead(name = NAME, max = 4)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
