//! Deadlines and breakers in attributes: where they may stand, and what they may be made of. What does not
//! compile is in `tests/ui`.

mod common;

use std::time::Duration;

use bulkhead_runtime::{BreakerPolicy, BulkheadError, Partition, bulkhead, dependency, partition};
use common::ms;

const TWO: u32 = 2;
const TENTHS: Duration = Duration::from_millis(100);

/// Every key, in another order than that of the documentation.
#[partition(
    name = "contract.all", max = 8, queue = 4, wait = 25ms,
    breaker(
        probes = 3, max_open_for = 1m, open_for = 5s, slow = 400ms, consecutive = 5, min_calls = 10,
        window = 30s, slow_rate = 80%, failure_rate = 12.5%,
    ),
)]
static ALL: Partition;

#[partition(name = "contract.defaults", max = 8, breaker())]
static DEFAULTS: Partition;

#[partition(
    name = "contract.constants", max = TWO * 4,
    breaker(window = TENTHS, min_calls = TWO + 1, open_for = TENTHS.saturating_mul(TWO), max_open_for = TENTHS.saturating_mul(4)),
)]
static CONSTANTS: Partition;

#[partition(name = "contract.none", max = 8, queue = 4, wait = 25ms)]
static NONE: Partition;

/// Takes 30 connections; nobody else uses it.
#[dependency(capacity = 30, replicas = 2)]
mod mail {
    use super::{BulkheadError, Partition, bulkhead, partition};

    #[partition(name = "contract.mail", max = 8, breaker(consecutive = 5))]
    pub(super) static MAIL: Partition;

    #[bulkhead(MAIL, timeout = 2s)]
    pub(super) async fn send() -> Result<u32, BulkheadError> {
        Ok(1)
    }
}

macro_rules! declare {
    ($name:literal, $rate:literal, $slow:expr, $deadline:literal) => {
        #[bulkhead(name = $name, max = 4, deadline = $deadline, breaker(failure_rate = $rate%, slow = $slow))]
        async fn made() -> Result<u32, BulkheadError> {
            Ok(1)
        }
    };
}

declare!("contract.made", 0.5, TENTHS, 3s);

#[bulkhead(
    name = "contract.own", max = 4, queue = 4, wait = 25ms, timeout = 2825ms, deadline = 3s, margin = 150ms,
    breaker(failure_rate = 30%, slow = 2s), crate = ::bulkhead_runtime,
)]
async fn just_fits() -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(name = "contract.margin", max = 4, margin = TENTHS)]
async fn margin_alone() -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(name = "contract.no-timeout", max = 4, queue = 4, wait = 25ms, deadline = TENTHS, margin = 74ms)]
async fn no_timeout() -> Result<u32, BulkheadError> {
    Ok(1)
}

#[bulkhead(ALL, timeout = 500ms)]
async fn below_the_breaker<T: Into<u32>>(value: T) -> Result<u32, BulkheadError> {
    Ok(value.into())
}

#[bulkhead(ALL, deadline = 550ms, margin = 149ms, breaker(slow = 300ms))]
async fn below_two_breakers(value: impl Into<u32>) -> Result<u32, BulkheadError> {
    Ok(value.into())
}

#[bulkhead(DEFAULTS, deadline = 2s)]
async fn with_defaults<const N: u32>() -> Result<u32, BulkheadError> {
    Ok(N)
}

#[bulkhead(NONE)]
async fn below_none<T>(value: T) -> Result<T, BulkheadError> {
    Ok(value)
}

#[bulkhead(NONE, margin = 10ms, breaker(), timeout = TENTHS)]
async fn own_breaker_below_none<T>(value: T) -> Result<T, BulkheadError> {
    Ok(value)
}

struct Orders<T>(T);

impl<T: Copy + Into<u32>> Orders<T> {
    #[bulkhead(CONSTANTS, timeout = 2s)]
    async fn total(&self, more: impl Into<u32>) -> Result<u32, BulkheadError> {
        Ok(self.0.into() + more.into())
    }

    #[bulkhead(NONE)]
    async fn count<U>(&self, all: &[U]) -> Result<usize, BulkheadError> {
        Ok(all.len())
    }

    /// Of two on one function, each has its own.
    #[bulkhead(CONSTANTS, deadline = 2s, breaker(probes = 1))]
    #[bulkhead(NONE)]
    async fn twice(&self) -> Result<u32, BulkheadError> {
        Ok(self.0.into())
    }
}

#[test]
fn the_breaker_of_a_partition_is_what_its_attribute_says() {
    const READ: Option<BreakerPolicy> = ALL.policy().breaker();
    let all = BreakerPolicy::new()
        .with_failure_rate(12.5)
        .with_slow(ms(400))
        .with_slow_rate(80.0)
        .with_window(ms(30_000))
        .with_min_calls(10)
        .with_consecutive(5)
        .with_open_for(ms(5_000))
        .with_max_open_for(ms(60_000))
        .with_probes(3);
    assert_eq!(READ, Some(all));
    assert_eq!(DEFAULTS.policy().breaker(), Some(BreakerPolicy::new()));
    let constants = BreakerPolicy::new()
        .with_window(ms(100))
        .with_min_calls(3)
        .with_open_for(ms(200))
        .with_max_open_for(ms(400));
    assert_eq!(CONSTANTS.policy().breaker(), Some(constants));
    assert_eq!(NONE.policy().breaker(), None);
    let consecutive = BreakerPolicy::new().with_consecutive(5);
    assert_eq!(mail::MAIL.policy().breaker(), Some(consecutive));
}

#[test]
fn the_breaker_of_a_function_is_not_that_of_its_partition() {
    let own = partition("contract.own").expect("it is declared above");
    assert_eq!(own.policy().breaker(), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_declared_runs() {
    assert_eq!(just_fits().await.unwrap(), 1);
    assert_eq!(margin_alone().await.unwrap(), 1);
    assert_eq!(no_timeout().await.unwrap(), 1);
    assert_eq!(made().await.unwrap(), 1);
    assert_eq!(mail::send().await.unwrap(), 1);
    assert_eq!(below_the_breaker(7_u8).await.unwrap(), 7);
    assert_eq!(below_two_breakers(7_u16).await.unwrap(), 7);
    assert_eq!(with_defaults::<7>().await.unwrap(), 7);
    assert_eq!(below_none("7").await.unwrap(), "7");
    assert_eq!(own_breaker_below_none(7.0).await.unwrap().to_string(), "7");
    assert_eq!(Orders(3_u8).total(4_u16).await.unwrap(), 7);
    assert_eq!(Orders(3_u8).count(&[1, 2]).await.unwrap(), 2);
    assert_eq!(Orders(3_u8).twice().await.unwrap(), 3);
}

#[test]
fn no_declaration_disagrees_with_another() {
    bulkhead_runtime::verify().expect("every name has one policy");
}
