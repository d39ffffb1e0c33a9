use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4)]
async fn report(ready: bool) -> Result<u32, BulkheadError> {
    if !ready {
        return None;
    }
    Ok(1)
}

fn main() {}
