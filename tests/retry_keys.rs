//! `retry`, `fallback` and `settle` on every shape of function: it compiles, tries again, and answers otherwise.
//! What does not compile is in `tests/ui`.

#![expect(
    clippy::unused_async,
    reason = "a fallback is async, and these have nothing to wait for"
)]

mod common;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bulkhead_runtime::{
    BulkheadError, Partition, Policy, RetryBudget, Verdict, bulkhead, partition,
};
use common::ms;

#[partition(name = "keys.shared", max = 64, retry_budget(ratio = 100%, min = 1_000, window = 1m))]
static SHARED: Partition;

#[partition(name = "keys.budget", max = 4, retry_budget(window = 30s, ratio = 12.5%))]
static BUDGET: Partition;

#[derive(Debug, Clone, PartialEq)]
enum Error {
    Down(u32),
    Wrong,
    Rejected,
}

impl Error {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Down(_))
    }
}

impl From<BulkheadError> for Error {
    fn from(_: BulkheadError) -> Self {
        Self::Rejected
    }
}

/// A partner that is down for its first calls.
#[derive(Debug, Default)]
struct Partner {
    calls: AtomicU32,
    down_for: u32,
}

impl Partner {
    fn down_for(calls: u32) -> Self {
        Self {
            down_for: calls,
            ..Self::default()
        }
    }

    async fn ask(&self) -> Result<u32, Error> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        tokio::task::yield_now().await;
        if call > self.down_for {
            Ok(call)
        } else {
            Err(Error::Down(call))
        }
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn cached(branch: u32, error: Error) -> Result<u32, Error> {
    match error {
        Error::Wrong => Err(Error::Wrong),
        _ => Ok(branch * 100),
    }
}

#[bulkhead(
    SHARED,
    retry(idempotent, attempts = 3, backoff = 1ms, cap = 2ms, when = Error::is_transient),
    fallback = cached(branch, error),
)]
async fn free(partner: &Partner, branch: u32) -> Result<u32, Error> {
    Ok(partner.ask().await? + branch)
}

#[tokio::test(start_paused = true)]
async fn a_free_function_tries_again_and_then_falls_back() {
    let partner = Partner::down_for(2);
    assert_eq!(free(&partner, 10).await, Ok(13));
    let partner = Partner::down_for(9);
    assert_eq!(free(&partner, 10).await, Ok(1000));
    assert_eq!(partner.calls(), 3);
}

#[derive(Debug)]
struct Branch {
    number: u32,
}

impl Branch {
    #[bulkhead(
        SHARED,
        retry(idempotent, attempts = 2, backoff = 1ms, when = |error| !matches!(error, Error::Wrong)),
        fallback = self.stale(format!("{name}{}", name.len()), error),
    )]
    async fn name_of(&self, partner: &Partner, name: String) -> Result<String, Error> {
        let call = partner.ask().await?;
        Ok(format!("{name} {} {call}", self.number) + &name)
    }

    async fn stale(&self, name: String, error: Error) -> Result<String, Error> {
        if error == Error::Wrong {
            return Err(error);
        }
        Ok(format!("stale {name} {} {error:?}", self.number))
    }

    #[bulkhead(SHARED, settle, timeout = 1s, fallback = self.stale(name, error))]
    async fn settled(self: Arc<Self>, name: String) -> Result<String, Error> {
        if name.is_empty() {
            return Err(Error::Down(0));
        }
        Ok(format!("{name} {}", self.number))
    }

    /// `&str` in, `&str` out.
    #[bulkhead(
        SHARED,
        retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
        fallback = Self::other(name, error),
    )]
    async fn borrowed<'a>(&self, partner: &Partner, name: &'a str) -> Result<&'a str, Error> {
        partner.ask().await?;
        Ok(&name[1..])
    }

    async fn other(name: &str, _: Error) -> Result<&str, Error> {
        Ok(&name[..1])
    }
}

#[tokio::test(start_paused = true)]
async fn methods_fall_back_to_methods() {
    let branch = Branch { number: 7 };
    let text = branch.name_of(&Partner::down_for(1), "a".to_owned()).await;
    assert_eq!(text.as_deref(), Ok("a 7 2a"));
    let stale = branch.name_of(&Partner::down_for(2), "a".to_owned()).await;
    assert_eq!(stale.as_deref(), Ok("stale a1 7 Down(2)"));
    assert_eq!(
        branch.borrowed(&Partner::down_for(1), "abc").await,
        Ok("bc")
    );
    assert_eq!(branch.borrowed(&Partner::down_for(2), "abc").await, Ok("a"));

    let branch = Arc::new(branch);
    let settled = Arc::clone(&branch).settled("b".to_owned()).await;
    assert_eq!(settled.as_deref(), Ok("b 7"));
    let stale = branch.settled(String::new()).await;
    assert_eq!(stale.as_deref(), Ok("stale  7 Down(0)"));
}

#[bulkhead(
    SHARED,
    retry(idempotent, attempts = 3, backoff = 1ms, when = Error::is_transient),
    fallback = generic_stale(value, error),
)]
async fn generic<T, const N: usize>(partner: Arc<Partner>, value: T) -> Result<[T; N], Error>
where
    T: Clone + Send,
{
    partner.ask().await?;
    Ok(std::array::from_fn(|_| value.clone()))
}

async fn generic_stale<T: Clone, const N: usize>(value: T, _: Error) -> Result<[T; N], Error> {
    Ok(std::array::from_fn(|_| value.clone()))
}

#[bulkhead(SHARED, retry(idempotent, attempts = 3, backoff = 1ms, when = Error::is_transient))]
async fn patterns(
    (partner, mut list): (&Partner, Vec<u32>),
    mut first: u32,
    #[cfg(any())] absent: u32,
    #[cfg(test)] present: u32,
    [second, ..]: [u32; 3],
    add: impl Fn(u32) -> u32 + Clone,
    _: Unclonable,
    Branch { number, .. }: Branch,
) -> Result<Vec<u32>, Error> {
    list.push(first);
    first += partner.ask().await?;
    list.extend([first, second, present, add(number)]);
    Ok(list)
}

#[derive(Debug)]
struct Unclonable;

/// It is there to be dropped: when all is over, and not with the first attempt.
#[bulkhead(SHARED, retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient))]
async fn kept(partner: &Partner, _guard: Guard<'_>) -> Result<u32, Error> {
    partner.ask().await
}

#[derive(Debug)]
struct Guard<'a>(&'a Partner);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        assert_eq!(self.0.calls(), 2, "not with the first attempt");
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_arguments_as_they_were_given() {
    let partner = Partner::down_for(1);
    assert_eq!(kept(&partner, Guard(&partner)).await, Ok(2));
    let partner = Arc::new(Partner::down_for(2));
    assert_eq!(generic(partner, "a").await, Ok(["a", "a"]));
    let partner = Partner::down_for(2);
    let list = patterns(
        (&partner, vec![1]),
        10,
        30,
        [20, 0, 0],
        |number| number + 1,
        Unclonable,
        Branch { number: 40 },
    );
    assert_eq!(list.await, Ok(vec![1, 10, 13, 20, 30, 41]));
}

trait Quotes {
    async fn quote(&self, partner: &Partner) -> Result<u32, Error>;

    #[bulkhead(
        SHARED,
        retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
        fallback = cached(branch, error),
    )]
    async fn by_default(&self, partner: &Partner, branch: u32) -> Result<u32, Error> {
        self.quote(partner).await.map(|quote| quote + branch)
    }
}

impl Quotes for Branch {
    #[bulkhead(
        name = "keys.trait", max = 4,
        retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
        fallback = cached(self.number, error),
    )]
    async fn quote(&self, partner: &Partner) -> Result<u32, Error> {
        Ok(partner.ask().await? * self.number)
    }
}

/// A number is `Copy`, so that `self` by value can be had again.
impl Quotes for u32 {
    #[bulkhead(SHARED, retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient))]
    async fn quote(&self, partner: &Partner) -> Result<u32, Error> {
        Ok(partner.ask().await? * self)
    }
}

#[tokio::test(start_paused = true)]
async fn a_trait_method_tries_again_and_falls_back() {
    let branch = Branch { number: 7 };
    assert_eq!(branch.quote(&Partner::down_for(1)).await, Ok(14));
    assert_eq!(branch.quote(&Partner::down_for(2)).await, Ok(700));
    assert_eq!(5.quote(&Partner::down_for(1)).await, Ok(10));
    // Its own attempts are those of the call around them.
    let partner = Partner::down_for(9);
    assert_eq!(branch.by_default(&partner, 1).await, Ok(701));
    assert_eq!(partner.calls(), 1, "the fallback inside has answered");
}

#[derive(Debug, Clone, Copy)]
struct Number(u32);

impl Number {
    #[bulkhead(
        SHARED,
        retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
        fallback = self.otherwise(error),
    )]
    async fn taken(self, partner: &Partner) -> Result<u32, Error> {
        Ok(self.0 + partner.ask().await?)
    }

    async fn otherwise(self, _: Error) -> Result<u32, Error> {
        Ok(self.0)
    }
}

#[async_trait]
trait Boxed: Send + Sync {
    async fn boxed(&self, partner: &Partner, branch: u32) -> Result<u32, Error>;

    #[bulkhead(
        SHARED,
        retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
        fallback = cached(branch, error),
    )]
    async fn boxed_by_default(&self, partner: &Partner, mut branch: u32) -> Result<u32, Error> {
        branch += partner.ask().await?;
        Ok(branch)
    }

    async fn boxed_for_ever(self: Arc<Self>, name: String) -> Result<String, Error>;
}

#[async_trait]
impl Boxed for Branch {
    #[bulkhead(
        SHARED,
        retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
        fallback = self.boxed_stale(branch, error),
    )]
    async fn boxed(&self, partner: &Partner, branch: u32) -> Result<u32, Error> {
        Ok(partner.ask().await? + branch + self.number)
    }

    #[bulkhead(SHARED, settle, timeout = 1s)]
    async fn boxed_for_ever(self: Arc<Self>, name: String) -> Result<String, Error> {
        tokio::task::yield_now().await;
        Ok(format!("{name} {}", self.number))
    }
}

impl Branch {
    async fn boxed_stale(&self, branch: u32, _: Error) -> Result<u32, Error> {
        Ok(self.number * 1000 + branch)
    }
}

#[bulkhead(
    SHARED,
    retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
    fallback = cached(branch, error),
)]
fn boxed_by_hand<'a>(
    partner: &'a Partner,
    branch: u32,
) -> Pin<Box<dyn Future<Output = Result<u32, Error>> + Send + 'a>> {
    return Box::pin(async move { Ok(partner.ask().await? + branch) });
}

#[tokio::test(start_paused = true)]
async fn a_boxed_future_is_made_anew_for_each_attempt() {
    let branch: Arc<dyn Boxed> = Arc::new(Branch { number: 7 });
    assert_eq!(branch.boxed(&Partner::down_for(1), 10).await, Ok(19));
    assert_eq!(branch.boxed(&Partner::down_for(2), 10).await, Ok(7010));
    assert_eq!(
        branch.boxed_by_default(&Partner::down_for(1), 10).await,
        Ok(12)
    );
    assert_eq!(
        branch.boxed_by_default(&Partner::down_for(2), 10).await,
        Ok(1000)
    );
    let text = branch.boxed_for_ever("a".to_owned()).await;
    assert_eq!(text.as_deref(), Ok("a 7"));
    assert_eq!(boxed_by_hand(&Partner::down_for(1), 10).await, Ok(12));
    assert_eq!(boxed_by_hand(&Partner::down_for(2), 10).await, Ok(1000));
    assert_eq!(Number(5).taken(&Partner::down_for(1)).await, Ok(7));
    assert_eq!(Number(5).taken(&Partner::down_for(2)).await, Ok(5));
}

macro_rules! made {
    ($name:ident, $argument:ident, $when:expr, $call:expr, $attempts:expr) => {
        #[bulkhead(
                            SHARED,
                            retry(idempotent, attempts = $attempts, backoff = 1ms, when = $when),
                            fallback = $call,
                        )]
        async fn $name(partner: &Partner, mut $argument: u32, inner: u32) -> Result<u32, Error> {
            $argument += partner.ask().await?;
            Ok($argument + inner)
        }
    };
}

made!(
    made,
    branch,
    Error::is_transient,
    cached(branch, error),
    1 + 1
);

#[bulkhead(
    SHARED,
    retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
    fallback = cached(branch, error),
)]
#[tracing::instrument(skip(partner))]
async fn instrument_below(partner: &Partner, branch: u32) -> Result<u32, Error> {
    Ok(partner.ask().await? + branch)
}

#[tracing::instrument(skip(partner), ret, err(Debug))]
#[bulkhead(
    SHARED,
    retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
    fallback = cached(branch, error),
)]
async fn instrument_above(partner: &Partner, branch: u32) -> Result<u32, Error> {
    Ok(partner.ask().await? + branch)
}

#[tokio::test(start_paused = true)]
async fn another_attribute_changes_neither_retries_nor_fallback() {
    assert_eq!(made(&Partner::down_for(1), 10, 1).await, Ok(13));
    assert_eq!(made(&Partner::down_for(2), 10, 1).await, Ok(1000));
    assert_eq!(instrument_below(&Partner::down_for(1), 10).await, Ok(12));
    assert_eq!(instrument_below(&Partner::down_for(2), 10).await, Ok(1000));
    assert_eq!(instrument_above(&Partner::down_for(1), 10).await, Ok(12));
    assert_eq!(instrument_above(&Partner::down_for(2), 10).await, Ok(1000));
}

/// What is no `Result` is looked at as a whole.
#[derive(Debug, PartialEq)]
struct Reply(u32);

fn busy(_: BulkheadError) -> Reply {
    Reply(503)
}

fn verdict(reply: &Reply) -> Verdict {
    if reply.0 < 500 {
        Verdict::Success
    } else {
        Verdict::Failure
    }
}

async fn otherwise(reply: Reply) -> Reply {
    Reply(reply.0 * 10)
}

#[bulkhead(
    SHARED, reject = busy, classify = verdict,
    retry(idempotent, attempts = 2, backoff = 1ms, when = |reply| reply.0 == 500),
    fallback = otherwise(error),
)]
async fn whole(partner: &Partner) -> Reply {
    Reply(partner.ask().await.map_or(500, |_| 200))
}

type Alias = Result<u32, Error>;

/// An `Ok` is never tried again, and no fallback can answer for it.
#[bulkhead(
    SHARED, classify = |_| Verdict::Failure,
    retry(idempotent, attempts = 2, backoff = 1ms, when = |error| !matches!(error, Error::Wrong)),
    fallback = cached(1, error),
)]
async fn alias(partner: &Partner) -> Alias {
    partner.ask().await
}

/// Without the error, and without any argument.
#[bulkhead(SHARED, fallback = flat())]
async fn without_error(partner: &Partner) -> Result<impl Into<u32>, Error> {
    let call: Result<u32, Error> = partner.ask().await;
    call
}

async fn flat() -> Result<u32, Error> {
    Ok(42)
}

#[tokio::test(start_paused = true)]
async fn the_type_says_what_an_error_is() {
    assert_eq!(whole(&Partner::down_for(1)).await, Reply(200));
    assert_eq!(whole(&Partner::down_for(2)).await, Reply(5000));
    assert_eq!(alias(&Partner::down_for(1)).await, Ok(2));
    assert_eq!(alias(&Partner::down_for(2)).await, Ok(100));
    let partner = Partner::down_for(0);
    assert_eq!(alias(&partner).await, Ok(1));
    assert_eq!(partner.calls(), 1);
    let partner = Partner::down_for(9);
    let answer = without_error(&partner).await;
    assert_eq!(answer.map(Into::into), Ok(42));
}

type Shown = Box<dyn Fn(u32) -> String + Send + Sync>;

#[bulkhead(
    SHARED,
    retry(idempotent, attempts = 2, backoff = 1ms, when = Error::is_transient),
    fallback = plainly(error),
)]
async fn boxed_closure(partner: Arc<Partner>) -> Result<Shown, Error> {
    let call = partner.ask().await?;
    Ok(Box::new(move |number| format!("{call} {number}")))
}

async fn plainly(_: Error) -> Result<Shown, Error> {
    Ok(Box::new(|number| number.to_string()))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_returns_a_trait_object_can_be_spawned() {
    let spawned = tokio::spawn(boxed_closure(Arc::new(Partner::down_for(1))));
    let shown = spawned.await.expect("it does not panic");
    assert_eq!(shown.map(|shown| shown(7)), Ok("2 7".to_owned()));
}

const TENTHS: Duration = Duration::from_millis(100);

/// The sum just fits: 25 ms, three times 600 ms, and backoffs of 40 ms and 60 ms.
#[bulkhead(
    name = "keys.fits", max = 4, queue = 4, wait = 25ms, timeout = 600ms, deadline = 2.075s, margin = 150ms,
    retry(idempotent, attempts = 3, backoff = 40ms, cap = 60ms, when = Error::is_transient),
)]
async fn just_fits() -> Result<u32, Error> {
    Ok(1)
}

/// Owned arguments, a reference for ever, and a closure that takes one.
#[bulkhead(
    name = "keys.settles", max = 4, timeout = 600ms, breaker(slow = TENTHS), settle,
    retry(idempotent, attempts = 2, backoff = TENTHS, when = Error::is_transient),
)]
async fn settles(
    name: String,
    word: &'static str,
    shown: impl Fn(&str) -> String + Clone + Send + 'static,
) -> Result<String, Error> {
    tokio::time::sleep(ms(1)).await;
    Ok(shown(&name) + word)
}

#[tokio::test(start_paused = true)]
async fn a_worst_case_that_just_fits_compiles() {
    assert_eq!(just_fits().await, Ok(1));
    let text = settles("a".to_owned(), "b", |name: &str| name.to_uppercase()).await;
    assert_eq!(text.as_deref(), Ok("Ab"));
}

#[test]
fn a_budget_is_as_written() {
    let budget = RetryBudget::new().with_ratio(12.5).with_window(ms(30_000));
    assert_eq!(BUDGET.policy(), &Policy::new(4).with_retry_budget(budget));
    assert_eq!(
        BUDGET.policy().to_string(),
        "max = 4, queue = 0, retry_budget(ratio = 12.5%, min = 3, window = 30s)"
    );
}
