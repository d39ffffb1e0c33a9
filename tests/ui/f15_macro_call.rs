use bulkhead_runtime::{BulkheadError, bulkhead};

macro_rules! make_tt {
    ($($tt:tt)*) => { $($tt)* };
}

#[bulkhead(name = "f15", max = 4)]
make_tt! {
    pub async fn f15_macro_call() -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

fn main() {}
