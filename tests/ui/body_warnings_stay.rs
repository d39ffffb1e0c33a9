#![deny(warnings)]

use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "report", max = 4)]
pub async fn report(unused: u32, mut changed: u32) -> Result<u32, BulkheadError> {
    let forgotten = (1);
    return Ok(1);
    Ok(2)
}

fn main() {}
