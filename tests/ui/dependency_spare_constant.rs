use bulkhead_runtime::dependency;

const CAPACITY: u32 = 30;

#[dependency(capacity = CAPACITY, spare = CAPACITY, replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;
}

fn main() {}
