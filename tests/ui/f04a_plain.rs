use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f04a", max = 4)]
pub async fn f04_plain() -> u32 {
    std::future::ready(()).await;
    1
}

fn main() {}
