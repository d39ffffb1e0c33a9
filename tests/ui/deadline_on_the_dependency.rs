use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4, deadline = 3s)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;
}

fn main() {}
