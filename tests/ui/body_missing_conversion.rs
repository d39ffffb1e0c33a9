use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4)]
async fn report(text: &str) -> Result<u32, BulkheadError> {
    Ok(text.parse::<u32>()?)
}

fn main() {}
