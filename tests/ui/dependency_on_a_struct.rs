use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4)]
struct Postgres;

fn main() {}
