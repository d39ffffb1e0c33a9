use bulkhead_runtime::bulkhead;

#[bulkhead(name = "f08", max = 4)]
pub async fn f08_generic_error<E>(e: Option<E>) -> Result<u32, E> {
    std::future::ready(()).await;
    match e {
        Some(e) => Err(e),
        None => Ok(1),
    }
}

fn main() {}
