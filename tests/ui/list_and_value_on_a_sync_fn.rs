use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "", max = 0, colour = 1)]
fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
