use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f03", max = 4)]
pub async fn f03_option() -> Option<u32> {
    std::future::ready(()).await;
    Some(1)
}

fn main() {}
