use bulkhead_runtime::dependency;

fn connections() -> u32 {
    30
}

#[dependency(capacity = connections(), replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;
}

fn main() {}
