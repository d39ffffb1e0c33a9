use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 2)]
mod postgres {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "checkout", max = 7)]
    pub static CHECKOUT: Partition;

    #[partition(name = "reports", max = 1)]
    pub static REPORTS: Partition;

    #[partition(name = "checkout", max = 7)]
    pub static ORDERS: Partition;
}

fn main() {}
