use bulkhead_runtime::{BulkheadError, bulkhead};

pub trait F11 {
    #[bulkhead(name = "f11", max = 4)]
    async fn f11_no_body(&self) -> Result<u32, BulkheadError>;
}

fn main() {}
