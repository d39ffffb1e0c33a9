use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 0)]
    pub static CHECKOUT: Partition;

    #[partition(name = "reports", max = 7)]
    pub static REPORTS: Partition;
}

fn main() {}
