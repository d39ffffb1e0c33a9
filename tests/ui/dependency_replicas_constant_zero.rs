use bulkhead_runtime::dependency;

const REPLICAS: u32 = 0;

#[dependency(capacity = 30, replicas = REPLICAS)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;
}

fn main() {}
