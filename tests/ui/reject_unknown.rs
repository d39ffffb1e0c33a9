use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4, reject = to_strin)]
async fn report() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
