use bulkhead_runtime::{BulkheadError, bulkhead};

struct Client;

impl Client {
    const LIMIT: u32 = 4;

    #[bulkhead(name = "report", max = Self::LIMIT)]
    async fn report(&self) -> Result<u32, BulkheadError> {
        Ok(Self::LIMIT)
    }
}

fn main() {}
