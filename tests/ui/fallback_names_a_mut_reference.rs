use bulkhead_runtime::{BulkheadError, bulkhead};

async fn cached(_: &[u32], _: BulkheadError) -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(name = "report", max = 4, fallback = cached(lines, error))]
async fn report(lines: &mut Vec<u32>) -> Result<u32, BulkheadError> {
    lines.push(1);
    Ok(1)
}

fn main() {}
