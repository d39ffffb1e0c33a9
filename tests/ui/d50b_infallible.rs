use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
async fn report() -> Result<u32, std::convert::Infallible> {
    Ok(1)
}

fn main() {}
