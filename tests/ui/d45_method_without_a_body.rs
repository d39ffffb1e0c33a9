use bulkhead_runtime::{BulkheadError, bulkhead};

trait Reports {
    #[bulkhead(name = "report", max = 4)]
    async fn report(&self) -> Result<u32, BulkheadError>;
}

fn main() {}
