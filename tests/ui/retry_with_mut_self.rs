use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

struct Reports(Vec<u32>);

impl Reports {
    #[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient))]
    async fn report(&mut self) -> Result<usize, BulkheadError> {
        self.0.push(1);
        Ok(self.0.len())
    }
}

fn main() {}
