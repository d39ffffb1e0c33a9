use bulkhead_runtime::{BulkheadError, bulkhead};

use bulkhead_runtime::Verdict;

fn verdict(_: &u32) -> Verdict {
    Verdict::Success
}

#[bulkhead(name = "report", max = 4, classify = verdict)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
