use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f06a", max = 4)]
pub async fn f06_string_error() -> Result<u32, String> {
    std::future::ready(()).await;
    Ok(1)
}

fn main() {}
