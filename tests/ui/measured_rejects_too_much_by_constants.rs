use bulkhead_runtime::{Partition, partition};
use std::time::Duration;

const LIMIT: u32 = 4;
const RATE: u32 = 40;
const MEAN: Duration = Duration::from_millis(50);

#[partition(name = "report", max = LIMIT / 2, measured(rate = RATE, mean = MEAN))]
static REPORT: Partition;

fn main() {}
