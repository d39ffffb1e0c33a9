use bulkhead_runtime::dependency;

#[dependency(capacity = 108, spare = 8, replicas = 4)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 20)]
    pub static CHECKOUT: Partition;

    #[partition(name = "reports", max = 8)]
    pub static REPORTS: Partition;
}

fn main() {}
