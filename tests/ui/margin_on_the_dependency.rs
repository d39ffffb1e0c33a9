use bulkhead_runtime::dependency;

#[dependency(capacity = 30, margin = 3, replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;
}

fn main() {}
