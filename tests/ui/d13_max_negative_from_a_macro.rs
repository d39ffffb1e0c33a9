use bulkhead_runtime::{BulkheadError, bulkhead};

macro_rules! guarded {
    ($max:literal) => {
        #[bulkhead(name = "report", max = $max)]
        async fn report() -> Result<u32, BulkheadError> {
            Ok(1)
        }
    };
}
guarded!(-1);

fn main() {}
