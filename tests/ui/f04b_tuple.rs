use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f04b", max = 4)]
pub async fn f04_tuple() -> (u32, String) {
    std::future::ready(()).await;
    (1, String::new())
}

fn main() {}
