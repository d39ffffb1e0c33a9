use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4)]
fn postgres() {}

fn main() {}
