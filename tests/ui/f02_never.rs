use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f02", max = 4)]
pub async fn f02_never() -> ! {
    loop {
        std::future::ready(()).await;
    }
}

fn main() {}
