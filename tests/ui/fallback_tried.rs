use bulkhead_runtime::{BulkheadError, bulkhead};

async fn cached(_: BulkheadError) -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(name = "report", max = 4, fallback = cached(error)?)]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
