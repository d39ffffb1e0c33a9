use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f06b", max = 4)]
pub async fn f06_io_error() -> std::io::Result<u32> {
    std::future::ready(()).await;
    Ok(1)
}

fn main() {}
