use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4, settle)]
async fn report(branch: u32, path: &str) -> Result<usize, BulkheadError> {
    Ok(path.len() + branch as usize)
}

fn main() {}
