use bulkhead_runtime::dependency;

#[dependency(capacity = 30, replicas = 4)]
mod postgres {
    pub const NOTHING: u32 = 4;
}

fn main() {}
