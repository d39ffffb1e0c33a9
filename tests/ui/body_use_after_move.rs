use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4)]
async fn report(name: String) -> Result<usize, BulkheadError> {
    drop(name);
    Ok(name.len())
}

fn main() {}
