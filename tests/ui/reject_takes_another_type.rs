use bulkhead_runtime::bulkhead;

fn to_string(_: u32) -> String {
    String::new()
}

#[bulkhead(name = "report", max = 4, reject = to_string)]
async fn report() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
