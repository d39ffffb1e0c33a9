use bulkhead_runtime::{BulkheadError, bulkhead};

fn verdict(result: &Result<u32, BulkheadError>) -> bool {
    result.is_ok()
}

#[bulkhead(name = "report", max = 4, classify = verdict)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
