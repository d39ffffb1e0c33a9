use bulkhead_runtime::{BulkheadError, bulkhead};

struct Reports(Vec<u32>);

impl Reports {
    #[bulkhead(name = "report", max = 4, settle)]
    async fn report(&self) -> Result<usize, BulkheadError> {
        Ok(self.0.len())
    }
}

fn main() {}
