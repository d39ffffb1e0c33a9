use bulkhead_runtime::{BulkheadError, bulkhead};

struct Client;

#[bulkhead(name = "report", max = 4)]
impl Client {
    async fn report(&self) -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

fn main() {}
