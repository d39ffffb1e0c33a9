use bulkhead_runtime::{BulkheadError, bulkhead};

use std::rc::Rc;

#[bulkhead(name = "report", max = 4, settle)]
async fn report(count: Rc<u32>) -> Result<u32, BulkheadError> {
    Ok(*count)
}

fn main() {}
