use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f01", max = 4)]
pub async fn f01_unit() {
    std::future::ready(()).await;
}

fn main() {}
