use bulkhead_runtime::{BulkheadError, bulkhead};

static REPORT: u32 = 4;

#[bulkhead(REPORT, timeout = 2s)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
