mod limits {
    pub const CAPACITY: u32 = 50;
    pub const REPLICAS: u32 = 2;
    pub const MAX: u32 = 13;
}

mod databases {
    use bulkhead_runtime::dependency;

    use crate::limits;

    #[dependency(capacity = limits::CAPACITY, replicas = limits::REPLICAS)]
    pub mod postgres {
        use bulkhead_runtime::{Partition, partition};

        #[partition(name = "checkout", max = crate::limits::MAX)]
        pub static CHECKOUT: Partition;

        #[partition(name = "reports", max = super::limits::MAX)]
        static REPORTS: Partition;
    }
}

fn main() {}
