//! The attribute macros of `bulkhead-runtime`, which re-exports them: use them from there.
//!
//! `#[bulkhead]` guards a function, `#[partition]` declares a partition that several functions
//! share, `#[dependency]` the sum that several partitions share. They check what tokens can tell; every
//! rule about a *value* is a `const fn` of the runtime, which the expansion calls under the place where
//! the value stands.
//!
//! The way of an attribute through this crate: `list` reads it into `args`, `entry` by `entry` (`walk`,
//! `keys`, `unknown`, `called`; `value`, `literal`, `number`, `duration`, `percent`), `function` or `module` the
//! item (`item`, `arguments`, `output`, `refusal`, `conditions`); `scope`, `borrows`, `policy`, `measured`, `breaker`,
//! `retry` and `contract` hold the one against the other, and `expand`, `partition` or `dependency` write what is
//! compiled: `whole` (with `captures`, `settled`) the call of a function that may try again, fall back or settle;
//! `fallback` writes when something is wrong.

#![forbid(unsafe_code)]

mod args;
mod arguments;
mod borrows;
mod breaker;
mod called;
mod captures;
mod conditions;
mod contract;
mod decimal;
mod dependency;
mod duration;
mod entry;
mod errors;
mod expand;
mod fallback;
mod function;
#[cfg(test)]
mod fuzz;
mod item;
mod keys;
mod list;
mod literal;
mod measured;
mod module;
mod number;
mod output;
mod partition;
mod percent;
mod policy;
mod refusal;
mod retry;
mod scope;
mod settled;
mod span;
mod unknown;
mod value;
mod walk;
mod whole;

use proc_macro::TokenStream;

/// Gives an async function a partition: at most `max` calls of it run at once.
///
/// A call that finds a permit runs. One that does not waits, if there is a `queue` and a place in
/// it, and is rejected otherwise: it returns a `BulkheadError`, turned into the error of its
/// `Result`, and the body never runs. The permit is given back when the call ends: on return, `?`,
/// panic, timeout, and when its future is dropped.
///
/// # Keys
///
/// | key | meaning | left out |
/// |---|---|---|
/// | `name = "report"` | the partition's label in errors and metrics: `[a-z][a-z0-9_.-]*`, at most 64 bytes | compulsory |
/// | `max = 4` | permits: how many calls may be in flight at once, 1 to 2²⁰ | compulsory |
/// | `queue = 8` | how many more may wait, 0 to 2²⁰ | 0: a full partition rejects at once |
/// | `wait = 25ms` | the longest time in the queue; compulsory with a queue, an error without one | – |
/// | `timeout = 2s` | the longest time of the body, from the permit to its end; longer than `wait` | none |
/// | `deadline = 3s` | the longest time of everything, from the call to its end, waiting included | what the caller has left |
/// | `margin = 150ms` | what of the deadline stays for the reply and for clean-up; shorter than `deadline` | nothing |
/// | `breaker(…)` | a breaker for the calls of this function alone, see below | none |
/// | `retry(idempotent, …)` | tries again what failed in passing, see below | one attempt |
/// | `fallback = cached(branch, error)` | a call that answers in the place of this one, see below | the caller sees the failure |
/// | `settle` | a body that has started runs to its end although its caller has left, see below | it is dropped with its caller |
/// | `reject = to_mine` | a function from `BulkheadError` to the error of the `Result`, or to the whole return type | `From`, see below |
/// | `classify = verdict` | a function from `&Return` to `Verdict`: what a returned value means | `Err` is a failure |
/// | `crate = path` | where `bulkhead_runtime` is found, for a crate that re-exports or renames it | `::bulkhead_runtime` |
///
/// The path of a partition stands for the first four: `#[bulkhead(postgres::CHECKOUT, timeout =
/// 500ms)]` takes its permits from a static that is declared with `#[partition]`, there or in
/// another crate.
///
/// Durations are literals with a unit, `25ms`, `1.5s`, `2m`, `1h`, or constant `Duration`
/// expressions, from 1 ms, the finest that the timer knows, to 365 days. Numbers and names are
/// literals or constant expressions. All of it is checked while compiling, constants included.
///
/// # Deadlines
///
/// A call ends by `deadline` from its start, or by the deadline that it inherited from the calls around it,
/// whichever comes first; and by `margin` before that, so that there is time left to say so. `margin` may stand
/// without `deadline`: it then shortens what is inherited. What is called inside inherits the rest. A deadline
/// is only ever narrowed.
///
/// The worst case has to fit, or the function does not compile: `wait`, if there is a queue, and `timeout` are
/// together no longer than `deadline` less `margin`. Without a `timeout`, `wait` alone is shorter than that. With
/// `retry` all attempts count, and the longest backoffs between them.
///
/// # Breakers
///
/// `breaker(failure_rate = 50%, slow = 1s)` takes the keys that it takes on `#[partition]`, all of which can be
/// left out: `breaker()`. It counts the calls of this function and stops no others, even of the same partition; that
/// of a partition counts the calls of all its functions. A function can be under both.
///
/// A function under a breaker, its own or that of its partition, needs a `timeout` or a `deadline`, and does not
/// compile without: a call that hangs would never end, and the breaker would never see it. `slow` is shorter than
/// what bounds the call.
///
/// # Retries
///
/// `retry(idempotent, attempts = 3, backoff = 40ms, when = is_transient)` runs the function again when it failed with
/// an error that `when` calls transient.
///
/// | key | meaning | left out |
/// |---|---|---|
/// | `idempotent` | running the function twice does what running it once does; without the word it does not compile | compulsory |
/// | `attempts = 3` | how often it runs at most, the first time counted, 2 to 10 | compulsory |
/// | `backoff = 40ms` | the longest wait before the first retry, 1 ms to 1 h; twice that before the next, and so on. It is drawn anew each time | compulsory |
/// | `cap = 1s` | the longest wait before any retry; `backoff` to 1 h | 1 s, or `backoff` where that is longer |
/// | `when = is_transient` | a function or closure from `&E` to `bool`, of a type that is no `Result` from `&Return`. An `Ok` is never tried again | compulsory |
///
/// `timeout` bounds each attempt, and `deadline` all of them with what is between. No permit is held in a backoff, and
/// a retry takes one that is free then: it never queues. A call that was rejected is not tried again. The retries of a
/// partition have one budget, see [`partition`](macro@partition). Inside a call that retries, no other does.
///
/// Each attempt has clones of those arguments that the body names. An argument that it does name is `Clone` and no
/// `&mut`, `self` is a reference or `Copy`. An argument that the body does not name, such as `_guard`, is kept until
/// the call is over.
///
/// # Fallback
///
/// `fallback = cached(branch, error)` is the call of an async function or method that returns what this one returns. It
/// is made when there is no answer: on a rejection, a timeout, or a verdict `Failure` after the last attempt; never on
/// `Ignored`. It holds no permit, and the deadline bounds it.
///
/// The call can use the arguments of the function, `self` among them, and `error`: what the caller would have seen, the
/// error of a `Result`, and of another type the whole. Of the arguments that it names, it gets clones, made
/// before the body starts. It is written without `.await`; what has nothing to wait for is
/// `std::future::ready(…)`. An `Ok` that `classify` calls a failure has no error, and is returned as it is.
///
/// With `retry` or `fallback`, the future is `Send` only if the return type is: a failure is kept until it is known
/// what comes of it.
///
/// # Settle
///
/// Without `settle`, a body is dropped when its caller leaves or runs out of time. With it, a body that has started runs
/// to its end in a task of its own, and keeps its permit until then. Its `timeout` still ends it, a deadline
/// only ends the wait of its caller; so under a breaker a function that settles needs a `timeout`. Before it starts,
/// it can be rejected and given up like any other.
///
/// Such a body borrows nothing and is `Send`: arguments are owned, `self` is an `Arc<Self>`.
///
/// # Which functions
///
/// Free functions and methods, generic ones, trait methods with a body, trait implementations, and
/// functions that return a boxed future, as `#[async_trait]` and `#[async_recursion]` leave them
/// behind. Of the latter the future is guarded, not the call that makes it: what a hand-written one does
/// before it makes its future, it does without a permit. The signature stays as it is written.
///
/// - One attribute is one partition: all instantiations of a generic function, and all types that
///   use a default method, share it. Within a crate, so do functions with the same name and policy.
/// - Of two attributes on one function, the lower one is entered first.
/// - Put it above an attribute that takes the `async` away, such as `#[tokio::main]`.
/// - Every level of a recursion, and a guarded call inside another, takes a permit of its own. Inside a
///   call of the same partition none queues, since it might wait for the call that waits for it: a depth
///   beyond `max` is rejected as `Full`.
/// - The permit is given back when the function returns, before a backoff and before a fallback. A stream that it
///   returned or a task that it spawned goes on without one.
///
/// # Return types
///
/// A `Result` whose error type implements `From<BulkheadError>`, however it is spelled. For the
/// error type of another crate write `reject = function`; the same key serves a return type that is
/// no `Result`. With the features `axum` and `actix`, a bare `Response` or `HttpResponse` carries a rejection too.
///
/// # Errors
///
/// The function returns, besides its own errors, a converted
/// - `BulkheadError::Full` when no permit and no place in the queue is free,
/// - `BulkheadError::WaitTimeout` when none became free within `wait`,
/// - `BulkheadError::Closed` when the partition is closed,
/// - `BulkheadError::BreakerOpen` when a breaker is open, or all of its probes are out,
/// - `BulkheadError::CallTimeout` when the body did not end within `timeout`; it is dropped then,
/// - `BulkheadError::DeadlineExceeded` when the deadline passed first, in the queue, in the body or in the fallback, or
///   left less than the `measured` mean of the partition.
///
/// # Panics
///
/// Waiting, backoffs, timeouts and deadlines need a tokio runtime whose time is enabled, and a body that settles needs
/// a runtime. Any other call that finds room, and every call that is rejected, needs none. The caller of a body that
/// settles panics when the runtime shuts down before that has ended.
///
/// # Cancel safety
///
/// Dropping the future at any await gives back what it holds: a place in the queue, or the permit,
/// once the body is dropped. A waiting call loses its place. What the body itself loses is the
/// body's affair, with or without the attribute; a body that settles loses nothing. A call that is dropped in a
/// backoff or in its fallback holds nothing.
///
/// Arguments drop in the order of a plain async function. Only what has no name, a `_` or the rest
/// of a destructured argument, drops after all that has; and like an argument that the body never
/// mentions, it drops when the permit is already back.
///
/// # Examples
///
/// ```
/// use bulkhead_runtime::{BulkheadError, bulkhead};
///
/// #[derive(Debug)]
/// enum AppError {
///     Busy(BulkheadError),
///     NoSuchBranch,
/// }
///
/// impl From<BulkheadError> for AppError {
///     fn from(error: BulkheadError) -> Self {
///         Self::Busy(error)
///     }
/// }
///
/// #[bulkhead(name = "report", max = 1)]
/// async fn monthly_report(branch: u32) -> Result<String, AppError> {
///     tokio::task::yield_now().await;
///     if branch > 99 { Err(AppError::NoSuchBranch) } else { Ok(format!("report of {branch}")) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (first, second) = tokio::join!(monthly_report(1), monthly_report(2));
/// assert_eq!(first.unwrap(), "report of 1");
/// assert!(matches!(second, Err(AppError::Busy(BulkheadError::Full(_)))));
/// assert!(matches!(monthly_report(100).await, Err(AppError::NoSuchBranch)));
/// # }
/// ```
///
/// A queue, a timeout, and the error type of somebody else:
///
/// ```
/// use bulkhead_runtime::{BulkheadError, Verdict, bulkhead};
///
/// fn to_io(error: BulkheadError) -> std::io::Error {
///     std::io::Error::other(error)
/// }
///
/// /// A missing file is an answer, not a failure of the disk.
/// fn verdict(result: &std::io::Result<String>) -> Verdict {
///     match result {
///         Ok(_) => Verdict::Success,
///         Err(error) if error.kind() == std::io::ErrorKind::NotFound => Verdict::Ignored,
///         Err(_) => Verdict::Failure,
///     }
/// }
///
/// #[bulkhead(
///     name = "disk", max = 8, queue = 16, wait = 25ms, timeout = 2s,
///     reject = to_io, classify = verdict,
/// )]
/// async fn read(path: &str) -> std::io::Result<String> {
///     std::fs::read_to_string(path)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert!(read("/no/such/file").await.is_err());
/// let disk = bulkhead_runtime::partition("disk").unwrap().snapshot();
/// assert_eq!((disk.admitted, disk.outcomes.ignored), (1, 1));
/// # }
/// ```
///
/// A deadline, with time kept back for the reply, and a breaker:
///
/// ```
/// use bulkhead_runtime::{BulkheadError, bulkhead};
///
/// #[bulkhead(
///     name = "quotes", max = 8, queue = 8, wait = 25ms, timeout = 1s,
///     deadline = 1.2s, margin = 150ms, breaker(failure_rate = 30%, slow = 500ms),
/// )]
/// async fn quote(branch: u32) -> Result<u32, BulkheadError> {
///     Ok(branch * 100)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(quote(7).await.unwrap(), 700);
/// # }
/// ```
///
/// Another try, and an answer where there is none:
///
/// ```
/// use bulkhead_runtime::{BulkheadError, bulkhead};
///
/// #[derive(Debug)]
/// enum Carrier {
///     Busy(BulkheadError),
///     Reset,
/// }
///
/// impl From<BulkheadError> for Carrier {
///     fn from(error: BulkheadError) -> Self {
///         Self::Busy(error)
///     }
/// }
///
/// #[derive(Debug, PartialEq)]
/// enum Quote {
///     Exact(u32),
///     Estimate(u32),
/// }
///
/// #[bulkhead(
///     name = "carrier", max = 8, timeout = 300ms, deadline = 2s,
///     retry(idempotent, attempts = 3, backoff = 40ms, when = |error| matches!(error, Carrier::Reset)),
///     fallback = flat_rate(weight, error),
/// )]
/// async fn quote(weight: u32) -> Result<Quote, Carrier> {
///     if weight < 30 { Ok(Quote::Exact(weight * 2)) } else { Err(Carrier::Reset) }
/// }
///
/// /// Only for want of an answer, and it says what it is.
/// async fn flat_rate(weight: u32, error: Carrier) -> Result<Quote, Carrier> {
///     match error {
///         Carrier::Reset => Ok(Quote::Estimate(5 + weight)),
///         Carrier::Busy(_) => Err(error),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(quote(10).await.unwrap(), Quote::Exact(20));
/// assert_eq!(quote(30).await.unwrap(), Quote::Estimate(35));
/// let carrier = bulkhead_runtime::partition("carrier").unwrap().snapshot();
/// assert_eq!((carrier.admitted, carrier.retries.made, carrier.fallbacks.answered), (4, 2, 1));
/// # }
/// ```
///
/// Two writes that belong together, whoever leaves in between:
///
/// ```
/// use std::sync::Arc;
/// use bulkhead_runtime::{BulkheadError, bulkhead};
///
/// struct Orders;
///
/// impl Orders {
///     #[bulkhead(name = "orders", max = 8, timeout = 2s, settle)]
///     async fn place(self: Arc<Self>, order: u32) -> Result<u32, BulkheadError> {
///         self.write(order).await;
///         self.write(order + 1).await;
///         Ok(order)
///     }
///     # async fn write(&self, _: u32) {}
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(Arc::new(Orders).place(7).await.unwrap(), 7);
/// # }
/// ```
///
/// What cannot be done in time does not compile: here, 25 ms and 2 s in the 1.85 s that are left.
///
/// ```compile_fail
/// # use bulkhead_runtime::{BulkheadError, bulkhead};
/// #[bulkhead(
///     name = "quotes", max = 8, queue = 8, wait = 25ms, timeout = 2s,
///     deadline = 2s, margin = 150ms,
/// )]
/// async fn quote(branch: u32) -> Result<u32, BulkheadError> {
///     Ok(branch * 100)
/// }
/// ```
#[proc_macro_attribute]
pub fn bulkhead(list: TokenStream, item: TokenStream) -> TokenStream {
    expand::bulkhead(list.into(), &item.into()).into()
}

/// Declares a partition: `static NAME: Partition;`, without an initialiser.
///
/// For a partition that several functions share, each through `#[bulkhead(path::NAME)]`, or that is
/// entered by hand. It is registered before `main`, so its counts stand at zero before the first
/// call.
///
/// # Keys
///
/// | key | meaning | left out |
/// |---|---|---|
/// | `name = "checkout"` | the label in errors and metrics: `[a-z][a-z0-9_.-]*`, at most 64 bytes | compulsory |
/// | `max = 20` | permits: how many calls may be in flight at once, 1 to 2²⁰ | compulsory |
/// | `queue = 20` | how many more may wait, 0 to 2²⁰ | 0: a full partition rejects at once |
/// | `wait = 25ms` | the longest time in the queue; compulsory with a queue, an error without one | – |
/// | `reserve = 2` | of `max`, permits that only critical calls are to have; below `max` | 0 |
/// | `per_key = 3` | of `max`, permits that one key, such as a tenant, may hold or wait for; 1 to `max` | no bound |
/// | `measured(rate = 40, mean = 80ms, shed = 1%)` | the traffic that was measured, see below | – |
/// | `breaker(failure_rate = 50%, …)` | one breaker for all calls of the partition, see below | none |
/// | `retry_budget(ratio = 20%, min = 3, window = 10s)` | how many retries its functions may make together, see below | these values |
/// | `status = 503` | the HTTP status of a rejection: 503 or 429 | 503 |
/// | `crate = path` | where `bulkhead_runtime` is found | `::bulkhead_runtime` |
///
/// `timeout`, `deadline`, `margin`, `retry`, `fallback`, `settle`, `reject` and `classify` are about one function and
/// belong there. `reserve` and
/// `per_key` are checked and kept; nobody is admitted or rejected by them yet.
///
/// The policy can be read while compiling, so that one number is written once:
/// `PgPoolOptions::new().max_connections(CHECKOUT.policy().max())`.
///
/// # What was measured
///
/// `rate` is the number of calls a second in *this process* at peak, a whole number, a literal with up to three
/// decimals, or a constant `u32` expression; `mean` is the mean time of a call, a duration; `shed` is how much
/// of it may be rejected, a literal percentage with up to four decimals, and 1 % when it is left out. With them the
/// policy does not compile
/// - when it would reject more than `shed`; the error, at `max`, names the numbers that would do;
/// - when a part of the queue is dead: a full queue has to drain within `wait`, or its last callers wait for
///   nothing. The error stands at `queue`.
///
/// What would be rejected is computed, by Erlang's formula B and its kin with a queue, for calls that come
/// independently of one another; `Measured` says more.
///
/// # A breaker
///
/// Once too large a share of the calls fails or is slow, or too many in a row fail, no more are made for a while.
/// Then probes go out, and when they succeed, all is as before. All keys can be left out; `breaker()` has
/// nothing but defaults.
///
/// | key | meaning | left out |
/// |---|---|---|
/// | `failure_rate = 50%` | the share of failures that opens it; above 0, and at most 100 % | 50 % |
/// | `slow_rate = 80%` | the share of slow calls that opens it, likewise; needs `slow` | that of failures |
/// | `window = 10s` | for how long a call counts, 100 ms to 1 h | 10 s |
/// | `min_calls = 20` | how many calls in the window a share needs | 20 |
/// | `consecutive = 5` | how many failures without a success between them open it, however few calls there are | no number does |
/// | `slow = 2s` | from what time on a call is slow | none is |
/// | `open_for = 30s` | the first cool-down, 1 ms to 365 days; it carries jitter | 30 s |
/// | `max_open_for = 5m` | the longest cool-down: a probe that fails doubles it, up to here; `open_for` or more | 5 min, or `open_for` where that is longer |
/// | `probes = 2` | how many probes succeed in a row before it closes, 1 to 1000 | 2 |
///
/// Shares are literal percentages with up to four decimals; the rest is durations and numbers as elsewhere.
/// While it is open, a call is rejected with `BulkheadError::BreakerOpen` before it queues. A failure is a verdict
/// `Failure`, a panic, a call timeout, or a `deadline` of the function's own that passed; rejections, and calls that
/// their callers gave up, are none. `Breaker` has the whole table.
///
/// Every function that takes its permits here needs a `timeout` or a `deadline`, longer than `slow`; it does not
/// compile otherwise. A breaker for one function alone is written there. Functions of one path that one call of a
/// macro makes, such as the methods of one name for several types, have one breaker together.
///
/// # A retry budget
///
/// When everything fails, retries are the load that keeps it failing. So all functions of a partition together may
/// retry a share of their calls: each admitted first attempt of one that owns its retries deposits `ratio` of a retry, 0
/// to 100 %, and each retry takes a whole one, without refund. What was deposited expires with the `window`, 1 s to 1 h. `min`
/// retries in each window, 0 to 1000, need no deposit, so that a lone call can be tried again.
///
/// # Errors
///
/// The static itself cannot fail. Two declarations of one name in one crate are one partition; if
/// their policies differ, `verify()` says so, and the policy of the first by file and line holds.
///
/// # Examples
///
/// ```
/// use bulkhead_runtime::{BulkheadError, bulkhead};
///
/// pub mod postgres {
///     use bulkhead_runtime::{Partition, partition};
///
///     #[partition(
///         name = "checkout", max = 20, queue = 12, wait = 25ms,
///         measured(rate = 200, mean = 40ms), breaker(slow = 250ms, open_for = 10s),
///     )]
///     pub static CHECKOUT: Partition;
/// }
///
/// const CONNECTIONS: u32 = postgres::CHECKOUT.policy().max();
///
/// #[bulkhead(postgres::CHECKOUT, timeout = 500ms)]
/// async fn place_order(amount: u32) -> Result<u32, BulkheadError> {
///     Ok(amount)
/// }
///
/// #[bulkhead(postgres::CHECKOUT, timeout = 2s)]
/// async fn cancel_order(amount: u32) -> Result<u32, BulkheadError> {
///     Ok(amount)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(CONNECTIONS, 20);
/// place_order(5).await.unwrap();
/// cancel_order(5).await.unwrap();
/// assert_eq!(postgres::CHECKOUT.snapshot().admitted, 2);
/// # }
/// ```
#[proc_macro_attribute]
pub fn partition(list: TokenStream, item: TokenStream) -> TokenStream {
    partition::partition(list.into(), &item.into()).into()
}

/// Declares what several partitions protect, on the inline module of their statics: together they take no
/// more than it can.
///
/// The permits of all partitions in the module, in each replica, are held against the capacity while
/// compiling: Σ `max` × `replicas` ≤ `capacity` − `spare`. The error stands at `capacity` and has the numbers.
/// While the program runs, `resize` and `configure` hold to the same sum.
///
/// # Keys
///
/// | key | meaning | left out |
/// |---|---|---|
/// | `capacity = 120` | what the dependency can take at once, from everybody: calls, connections | compulsory |
/// | `spare = 8` | what of that stays free, for administration or for others; below `capacity` | 0 |
/// | `replicas = 4` | the most processes that can run at once, the surge of a deployment included | compulsory |
/// | `crate = path` | where `bulkhead_runtime` is found | `::bulkhead_runtime` |
///
/// Numbers are literals or constant `u32` expressions. An expression means what it means where the attribute
/// stands, *outside* of the module, in the body of a function too; a constant of the module is written
/// `postgres::LIMIT`, and has to be visible there (`pub(super)`).
///
/// # What is counted
///
/// Every `static` directly in the module that carries `#[partition]`, also through `#[cfg_attr]`; one under a
/// `#[cfg]` counts when it is compiled. At least one, and each under a name of its own: two of one name would be
/// one partition.
///
/// - A function in the module says `#[bulkhead(CHECKOUT)]`. One with a `name` declares a partition that the sum
///   could not see, and is an error.
/// - What stands in modules inside of this one, in `impl` blocks, or comes out of a macro call is not seen, and
///   not counted.
/// - The module is emitted as it is written, and one hidden constant, `__BULKHEAD_PARTITIONS`, behind its items. It
///   is written inline: neither the macro nor rustc lets `mod postgres;` stand here, nor in it.
///
/// The dependency has the name of its module, and is found by it: `bulkhead_runtime::dependency("postgres")`.
///
/// # Examples
///
/// ```
/// use bulkhead_runtime::{BulkheadError, bulkhead, dependency};
///
/// const REPLICAS: u32 = 3;
///
/// /// Postgres takes 120 connections; 8 stay free for administration; a deployment starts one replica more.
/// #[dependency(capacity = 120, spare = 8, replicas = REPLICAS + 1)]
/// pub mod postgres {
///     use bulkhead_runtime::{Partition, partition};
///
///     #[partition(name = "checkout", max = 20, queue = 12, wait = 25ms, measured(rate = 200, mean = 40ms))]
///     pub static CHECKOUT: Partition;
///
///     #[partition(name = "reports", max = 7)]
///     pub static REPORTS: Partition;
/// }
///
/// #[bulkhead(postgres::REPORTS, timeout = 2s)]
/// async fn monthly_report(branch: u32) -> Result<u32, BulkheadError> {
///     Ok(branch)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// monthly_report(7).await.unwrap();
/// let postgres = dependency("postgres").unwrap();
/// assert_eq!((postgres.sum(), postgres.share()), (27, 28));
/// assert_eq!(postgres.snapshot().outcomes.success, 1);
/// # }
/// ```
///
/// One permit too many does not compile:
///
/// ```compile_fail
/// # use bulkhead_runtime::dependency;
/// #[dependency(capacity = 120, spare = 8, replicas = 4)]
/// pub mod postgres {
///     # use bulkhead_runtime::{Partition, partition};
///     #[partition(name = "checkout", max = 29)] // 29 × 4 is more than 112
///     pub static CHECKOUT: Partition;
/// }
/// ```
#[proc_macro_attribute]
pub fn dependency(list: TokenStream, item: TokenStream) -> TokenStream {
    dependency::dependency(list.into(), &item.into()).into()
}
