use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4, retry_budget(ratio = 20%))]
mod mail {
    use bulkhead_runtime::{Partition, partition};

    #[partition(name = "mail", max = 4)]
    static MAIL: Partition;
}

fn main() {}
