use bulkhead_runtime::{BulkheadError, bulkhead};

trait Limited {
    const LIMIT: u32;
}

#[bulkhead(name = "report", max = T::LIMIT)]
async fn report<T: Limited>() -> Result<u32, BulkheadError> {
    Ok(T::LIMIT)
}

fn main() {}
