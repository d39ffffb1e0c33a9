use bulkhead_runtime::dependency;

#[dependency(capacity = CAPACITY, replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;

    pub const CAPACITY: u32 = 30;
}

fn main() {}
