use bulkhead_runtime::{BulkheadError, bulkhead};

struct Client {
    permits: u32,
}

impl Client {
    #[bulkhead(name = "report", max = self.permits)]
    async fn report(&self) -> Result<u32, BulkheadError> {
        Ok(self.permits)
    }
}

fn main() {}
