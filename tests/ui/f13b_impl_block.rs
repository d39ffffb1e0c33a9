use bulkhead_runtime::{BulkheadError, bulkhead};

pub struct F13Struct;

#[bulkhead(name = "f13b", max = 4)]
impl F13Struct {
    pub async fn method(&self) -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

fn main() {}
