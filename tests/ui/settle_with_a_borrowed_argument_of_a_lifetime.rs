use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, settle)]
async fn report<'a>(path: &'a str) -> Result<&'a str, BulkheadError> {
    Ok(path)
}

fn main() {}
