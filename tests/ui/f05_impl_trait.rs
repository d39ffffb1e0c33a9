use bulkhead_runtime::bulkhead;

pub trait IntoResponse {}
impl IntoResponse for String {}

#[bulkhead(name = "f05", max = 4)]
pub async fn f05_impl_trait() -> impl IntoResponse {
    std::future::ready(()).await;
    String::from("x")
}

fn main() {}
