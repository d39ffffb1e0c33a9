use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
async fn report() -> ! {
    loop {
        std::future::pending().await
    }
}

fn main() {}
