use bulkhead_runtime::{BulkheadError, bulkhead};

use bulkhead_runtime::Partition;

struct Client {
    partition: &'static Partition,
}

impl Client {
    #[bulkhead(self.partition)]
    async fn report(&self) -> Result<u32, BulkheadError> {
        Ok(self.partition.policy().max())
    }
}

fn main() {}
