use bulkhead_runtime::bulkhead;

use bulkhead_runtime::Verdict;

fn verdict(_: &u32) -> Verdict {
    Verdict::Success
}

#[bulkhead(name = "report", max = 4, classify = verdict)]
async fn report() -> u32 {
    1
}

fn main() {}
