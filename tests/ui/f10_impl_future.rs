use bulkhead_runtime::{BulkheadError, bulkhead};

#[bulkhead(name = "f10", max = 4)]
pub fn f10_impl_future() -> impl Future<Output = Result<u32, BulkheadError>> {
    async {
        std::future::ready(()).await;
        Ok(1)
    }
}

fn main() {}
