use bulkhead_runtime::partition;

#[partition(name = "report", max = 4)]
async fn report() {}

fn main() {}
