//! One slow dependency must not take the whole process with it.
//!
//! [`#[bulkhead]`](macro@bulkhead) gives an async function a *partition*: a fixed number of permits, a
//! short bounded queue, and a rule for what happens when both are full. A call that may not run is
//! rejected at once with a small typed error that becomes a 503. A call that runs gives its permit
//! back on every path: return, `?`, panic, timeout, dropped future.
//!
//! ```
//! use bulkhead_runtime::{bulkhead, BulkheadError};
//!
//! #[bulkhead(name = "report", max = 4, queue = 8, wait = 25ms, timeout = 2s)]
//! async fn monthly_report(branch: u32) -> Result<String, BulkheadError> {
//!     Ok(format!("report of branch {branch}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BulkheadError> {
//! assert_eq!(monthly_report(7).await?, "report of branch 7");
//!
//! let report = bulkhead_runtime::partition("report").expect("declared above");
//! assert_eq!(report.snapshot().outcomes.success, 1);
//! # Ok(()) }
//! ```
//!
//! # Where to look
//!
//! | to | use |
//! |---|---|
//! | guard an async function | [`#[bulkhead]`](macro@bulkhead) |
//! | share one partition between functions | [`#[partition]`](macro@partition) on a static |
//! | guard any future | [`Partition::call`] |
//! | hold a permit by hand | [`Partition::enter`], [`enter_by`](Partition::enter_by), [`try_enter`](Partition::try_enter) |
//! | guard blocking work | [`Partition::run_blocking`] |
//! | make a partition from configuration | [`register`] |
//! | share out what a dependency can take | [`#[dependency]`](macro@dependency) on a module of partitions |
//! | hold a policy against measured traffic | [`Measured`] |
//! | change or close a partition while it runs | [`configure`], [`Partition::resize`], [`mode`](Partition::mode), [`close`](Partition::close), [`reopen`](Partition::reopen) |
//! | shut down in order | [`drain_all`], [`Partition::drain`] |
//! | reject before a request is read | `BulkheadLayer`, with the feature `tower` |
//! | bound everything that is done for one caller | [`Deadline`], or the key `deadline` |
//! | take a deadline into a task | [`spawn`] |
//! | read a deadline from a request, or send one along | `DeadlineLayer`, `PropagateDeadlineLayer`, with the feature `tower` |
//! | stop calling what fails | the key `breaker`, or [`Policy::with_breaker`]; then [`Breaker`] |
//! | try again what failed, at a bounded expense | the key `retry`, and [`Policy::with_retry_budget`] |
//! | answer although the dependency does not | the key `fallback` |
//! | let a body end although its caller has left | the key `settle` |
//! | see what happens | [`snapshots`], [`Snapshot`], the feature `tracing` |
//! | be told as it happens | [`subscribe`] an [`Observer`] |
//! | check the whole program | [`verify`], one line in `main` or in a test; [`table`], for reviews |
//! | return anything other than `Result<T, E>` | [`FromBulkheadError`], or the key `reject` |
//!
//! Three pages of the [`guide`]: [where to put it](guide::where_do_i_put_it), when to
//! [try again or answer otherwise](guide::retry_and_fallback), and what [proxies and meshes](guide::behind_a_proxy) do
//! with a rejection.
//!
//! # What a call becomes
//!
//! It is *rejected* before its body starts, for one [`Reason`], or *abandoned* by a caller that leaves while it waits;
//! or it is *admitted* and ends as exactly one of [`Outcomes`]. At rest every call is accounted for exactly once;
//! [`Snapshot`] has the laws. A call that is tried again counts once for each attempt. Two errors can also tell of a
//! body that was stopped: a call timeout always does, an exceeded deadline if [`body_ran`](BulkheadError::body_ran)
//! says so.
//!
//! Two clocks run apart: `wait` bounds the time in the queue, `timeout` the time of the body. A [`Deadline`] bounds
//! both together. The error names the one that ran out.
//!
//! # Cancellation
//!
//! Every future of this crate may be dropped at any time. Dropped while it waits, it leaves the queue,
//! and a permit that it was already granted goes to the next. Dropped while its body runs, the body is
//! dropped first, and then its permit is free.
//!
//! # Features
//!
//! None is on by default.
//!
//! * `http`: `BulkheadError::status` and `BulkheadError::to_response`: 503 (or 429) and 504, `Retry-After`,
//!   problem details. `Deadline::from_headers` and `Deadline::propagate`.
//! * `axum`: `BulkheadError` is an axum response, and a handler may return a bare `Response`.
//! * `tower`: `BulkheadLayer` for routes, routers, servers and clients; `tower::DeadlineLayer` and
//!   `tower::PropagateDeadlineLayer` for deadlines that travel with requests.
//! * `tonic`: a `BulkheadError` becomes a gRPC status with its details; with `tower`, the layer on servers and
//!   channels.
//! * `actix`: `BulkheadError` is an actix-web response, and a handler may return a bare `HttpResponse`.
//! * `serde`: `Overrides` from a file of any format that serde reads.
//! * `test-util`: the module `test`, for the tests of those who use this crate.
//! * `tracing`: events and a span.
//!   - At `warn`: rejections, timeouts, calls with a `margin` and no deadline, and retries that the budget does not
//!     afford, each at most once a second for each partition; and a breaker that opens.
//!   - At `info`: the other transitions of a breaker, a partition that is closed, drains or is reopened, and the end of
//!     a saturation of a second or more. At `debug`: every other saturation. Where a subscriber takes `info`,
//!     partitions are watched as for an [`Observer`] that wants saturation; one that is installed later than the first
//!     use of a partition is noticed at the next rejection.
//!   - The span `call` around the body of every guarded call, of the target `bulkhead_runtime::call` and
//!     the level `debug`: it is detail of one request. It has the fields `partition`, `function` (none for
//!     [`Partition::call`], [`run_blocking`](Partition::run_blocking) and the layer), `waited_ms` (in the queue),
//!     `deadline_left_ms` (when the body starts; none without a deadline) and `attempt`, counted from 1.
//!     It begins when the body starts, is entered while that is polled, and ends with it, before the permit is free: on
//!     return, panic, timeout and cancellation. A rejected call has none, nor has a permit that is held by hand; with
//!     the layer it ends with the head of the response. Where no subscriber wants it, a call allocates nothing for it
//!     and asks no clock.
//!
//! # Time and the runtime
//!
//! The clock is tokio's, so a paused one moves everything in a test. Room and rejection need no
//! runtime; waiting, timeouts and deadlines need tokio's, with time enabled, and panic without it.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate self as bulkhead_runtime;

mod admission;
mod aftermath;
mod breaker;
mod call;
mod configure;
mod deadline;
mod dependency;
mod drain;
mod error;
mod foreign;
mod frame;
mod function;
mod idle;
mod mode;
mod observer;
mod outcome;
mod partition;
mod policy;
mod registry;
mod retry;
mod snapshot;
mod spawn;
mod sync;
mod table;
#[cfg(feature = "test-util")]
pub mod test;
mod time;
mod verify;
mod web;

pub use bulkhead_macros::{bulkhead, dependency, partition};

pub use breaker::{
    Breaker, BreakerCause, BreakerPolicy, BreakerPolicyError, BreakerSnapshot, BreakerState,
    BreakerTransition,
};
pub use call::{Call, Enter, Permit, Unclassified};
pub use configure::{ConfigureError, Override, Overrides, Problem, configure};
pub use deadline::{Deadline, Scope};
pub use dependency::{Dependency, DependencySnapshot, dependencies, dependency};
pub use drain::{Drain, Drained, Left, SettlingBody, drain_all};
pub use error::{
    BreakerOpen, BulkheadError, BulkheadFull, CallTimeout, Closed, DeadlineExceeded, Reason,
    WaitTimeout,
};
pub use mode::{Mode, UnknownMode};
pub use observer::{Event, Observer, Subscription, Wants, subscribe};
pub use outcome::{FromBulkheadError, Outcomes, RejectionError, Verdict};
pub use partition::Partition;
pub use policy::{
    MAX_DURATION, MAX_NAME, MAX_PERMITS, MAX_QUEUE, MIN_DURATION, Measured, Policy, PolicyError,
    SmallestMax,
};
pub use registry::{Existing, RegisterError, partition, partitions, register, snapshots};
pub use retry::{Fallbacks, Retries, RetryBudget, RetryPolicyError};
pub use snapshot::{Rejected, Snapshot};
pub use spawn::spawn;
pub use table::{Table, table};
pub use verify::{Mistake, VerifyError, verify};
#[cfg(feature = "tower")]
#[doc(inline)]
pub use web::tower::{self, BulkheadLayer};

/// Pages to read.
#[cfg(any(
    all(doc, not(doctest)),
    all(doctest, feature = "axum", feature = "tower")
))]
pub mod guide {
    #[doc = include_str!("../docs/where_do_i_put_it.md")]
    pub mod where_do_i_put_it {}

    #[doc = include_str!("../docs/retry_and_fallback.md")]
    pub mod retry_and_fallback {}

    #[doc = include_str!("../docs/behind_a_proxy.md")]
    pub mod behind_a_proxy {}
}

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../../README.md")]
struct Readme;
