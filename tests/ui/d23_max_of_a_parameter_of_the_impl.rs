use bulkhead_runtime::{BulkheadError, bulkhead};

struct Client<const N: u32>;

impl<const N: u32> Client<N> {
    #[bulkhead(name = "report", max = N)]
    async fn report(&self) -> Result<u32, BulkheadError> {
        Ok(N)
    }
}

fn main() {}
