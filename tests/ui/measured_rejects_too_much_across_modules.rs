mod limits {
    pub const MAX: u32 = 6;
    pub const RATE: u32 = 40;
}

mod reports {
    use bulkhead_runtime::{Partition, partition};

    use crate::limits;

    #[partition(name = "report", max = limits::MAX, measured(rate = limits::RATE, mean = 50ms, shed = 0.5%))]
    pub static REPORT: Partition;
}

fn main() {}
