use bulkhead_runtime::{BulkheadError, bulkhead};

use std::rc::Rc;

#[bulkhead(name = "report", max = 4, settle)]
async fn report() -> Result<u32, BulkheadError> {
    let count = Rc::new(1);
    tokio::task::yield_now().await;
    Ok(*count)
}

fn main() {}
