use bulkhead_runtime::{Partition, partition};

#[partition(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient))]
static REPORT: Partition;

fn main() {}
