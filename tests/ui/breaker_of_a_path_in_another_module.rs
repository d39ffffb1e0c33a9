mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 20, breaker(failure_rate = 50%))]
    pub static CHECKOUT: Partition;
}

use bulkhead_runtime::{BulkheadError, bulkhead};

struct Orders<T>(T);

impl<T: Send> Orders<T> {
    #[bulkhead(postgres::CHECKOUT, margin = 150ms)]
    async fn place(&self, order: impl Into<u32>) -> Result<u32, BulkheadError> {
        Ok(order.into())
    }
}

fn main() {}
