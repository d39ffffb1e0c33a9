use bulkhead_runtime::{BulkheadError, bulkhead};

struct Reports;

impl Reports {
    #[bulkhead(name = "report", max = 4, fallback = self.cached)]
    async fn report(&self) -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

fn main() {}
