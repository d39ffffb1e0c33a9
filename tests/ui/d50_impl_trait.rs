use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
async fn report() -> impl std::fmt::Display {
    String::new()
}

fn main() {}
