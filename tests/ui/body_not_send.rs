use bulkhead_runtime::{BulkheadError, bulkhead};

use std::rc::Rc;

#[bulkhead(name = "report", max = 4)]
async fn report() -> Result<u32, BulkheadError> {
    let count = Rc::new(1);
    std::future::ready(()).await;
    Ok(*count)
}

fn main() {
    fn assert_send(_: impl Send) {}
    assert_send(report());
}
