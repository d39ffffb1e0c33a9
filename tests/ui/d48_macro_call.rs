use bulkhead_runtime::{BulkheadError, bulkhead};

macro_rules! make_handler {
    ($($tokens:tt)*) => {
        $($tokens)*
    };
}

#[bulkhead(name = "report", max = 4)]
make_handler! {
    async fn report() -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

fn main() {}
