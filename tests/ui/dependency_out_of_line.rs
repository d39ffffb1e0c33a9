use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4)]
#[path = "../common/mod.rs"]
mod postgres;

fn main() {}
