//! What became of retries, counted.

/// What became of the attempts after a call's first.
///
/// Each of them is also counted like any other attempt, once it comes to its partition: in `started`, and so on.
///
/// At rest, what was withdrawn from the budget is `made + rejected + given_up`.
///
/// # Examples
/// ```
/// use bulkhead_runtime::{BulkheadError, bulkhead, partition};
///
/// #[bulkhead(
///     name = "atlas", max = 1, timeout = 5ms,
///     retry(idempotent, attempts = 3, backoff = 1ms, when = |error| error.body_ran()),
/// )]
/// async fn hangs() -> Result<(), BulkheadError> {
///     std::future::pending().await
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// hangs().await.unwrap_err();
/// let atlas = partition("atlas").unwrap().snapshot();
/// assert_eq!((atlas.retries.made, atlas.retries.budget_spent), (2, 0));
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Retries {
    /// Their body started.
    pub made: u64,
    /// They found no permit after their backoff, or a breaker open, or the partition closed: the caller got the error
    /// that was to be retried.
    pub rejected: u64,
    /// Their caller left during the backoff, or the partition was closed.
    pub given_up: u64,
    /// Not even decided on: the retry budget was spent.
    pub budget_spent: u64,
    /// Not even decided on: the deadline left no time.
    pub out_of_time: u64,
}

/// What became of fallbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Fallbacks {
    /// They returned something that is no failure.
    pub answered: u64,
    /// They returned a failure, such as the error that they were given; they panicked; the deadline passed, or the
    /// caller left.
    pub unanswered: u64,
}
