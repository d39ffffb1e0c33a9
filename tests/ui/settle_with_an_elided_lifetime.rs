use bulkhead_runtime::{BulkheadError, bulkhead};

use std::borrow::Cow;

#[bulkhead(name = "report", max = 4, settle)]
async fn report(path: Cow<'_, str>) -> Result<usize, BulkheadError> {
    Ok(path.len())
}

fn main() {}
