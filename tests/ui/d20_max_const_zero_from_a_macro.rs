use bulkhead_runtime::{BulkheadError, bulkhead};

macro_rules! zero {
    () => {
        0
    };
}

#[bulkhead(name = "report", max = zero!())]
async fn report() -> Result<u32, BulkheadError> {
    Ok(1)
}

fn main() {}
