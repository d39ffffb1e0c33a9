use bulkhead_runtime::{BulkheadError, bulkhead};

struct Order(u32);

async fn cached(_: Order, _: BulkheadError) -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(name = "report", max = 4, fallback = cached(order, error))]
async fn report(order: Order) -> Result<u32, BulkheadError> {
    Ok(order.0)
}

fn main() {}
