use bulkhead_runtime::bulkhead;

unsafe extern "C" {
    #[bulkhead(name = "report", max = 4)]
    fn report() -> u32;
}

fn main() {}
