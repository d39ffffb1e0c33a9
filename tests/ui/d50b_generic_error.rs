use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
async fn report<E>(error: Option<E>) -> Result<u32, E> {
    error.map_or(Ok(1), Err)
}

fn main() {}
