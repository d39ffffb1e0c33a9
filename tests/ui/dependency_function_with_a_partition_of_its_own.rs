use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;

    #[bulkhead_runtime::bulkhead(name = "orders", max = 4)]
    pub async fn order() -> Result<(), bulkhead_runtime::BulkheadError> {
        Ok(())
    }
}

fn main() {}
