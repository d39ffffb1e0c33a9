use bulkhead_runtime::{BulkheadError, bulkhead};

fn to_number(_: BulkheadError) -> u64 {
    1
}

#[bulkhead(name = "report", max = 4, reject = to_number)]
async fn report() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
