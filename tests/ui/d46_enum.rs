use bulkhead_runtime::bulkhead;

#[bulkhead(name = "report", max = 4)]
enum Report {
    Monthly,
}

fn main() {}
