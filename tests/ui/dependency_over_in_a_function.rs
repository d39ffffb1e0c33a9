use bulkhead_runtime::dependency;

fn main() {
    const CAPACITY: u32 = 6;

    #[dependency(capacity = CAPACITY, replicas = 1)]
    mod postgres {
        use bulkhead_runtime::{Partition, partition};

        #[partition(name = "checkout", max = 7)]
        pub static CHECKOUT: Partition;
    }
}
