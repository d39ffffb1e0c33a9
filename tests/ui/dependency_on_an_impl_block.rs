use bulkhead_runtime::dependency;

struct Postgres;

#[dependency(capacity = 30, replicas = 4)]
impl Postgres {}

fn main() {}
