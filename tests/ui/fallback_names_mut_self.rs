use bulkhead_runtime::{BulkheadError, bulkhead};

struct Reports;

impl Reports {
    #[bulkhead(name = "report", max = 4, fallback = self.cached(error))]
    async fn report(&mut self) -> Result<u32, BulkheadError> {
        Ok(1)
    }
    
    async fn cached(&self, _: BulkheadError) -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

fn main() {}
