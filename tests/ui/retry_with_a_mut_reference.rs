use bulkhead_runtime::{BulkheadError, bulkhead};

fn is_transient(_: &BulkheadError) -> bool {
    true
}

#[bulkhead(name = "report", max = 4, retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient))]
async fn report(branch: u32, lines: &mut Vec<u32>) -> Result<u32, BulkheadError> {
    lines.push(branch);
    Ok(branch)
}

fn main() {}
