//! A breaker: once calls of a dependency fail, no more are made for a while.
//!
//! # Why there is one beside the bulkhead
//!
//! A bulkhead bounds what a sick dependency can take from its callers; it does not stop them from
//! calling. Every permit then runs into its timeout, every caller pays it, and whatever tries to recover
//! at the other end is met by all of the load. Nygard ("Release It!", *Circuit Breaker*) adds a second
//! device: one that trips when calls go wrong, answers at once instead of calling, and tries again later
//! with care. The names of its states are his.
//!
//! # What trips it
//!
//! A *share* of the calls of the last [`window`](BreakerPolicy::with_window), once there are
//! [`min_calls`](BreakerPolicy::with_min_calls) of them. A number of failures would have to be written anew
//! whenever the traffic changes; a share need not. The window is one of time and not of the last *n*
//! calls, since at three in the morning the last hundred calls may be from yesterday. It is kept as
//! resilience4j keeps its time-based sliding window: as partial sums, so that it costs the same at any
//! traffic ([`window`] says what that leaves out).
//!
//! Slow calls have a share of their own, as in resilience4j: a dependency that answers everything, but
//! late, holds permits just as one that fails.
//!
//! A share says nothing about an operation that runs four times an hour. For those there is
//! [`consecutive`](BreakerPolicy::with_consecutive), the rule by which Finagle (failure accrual) and after it
//! Linkerd take endpoints out: so many failures and no success between them, however long that takes.
//!
//! Only what the dependency did counts. A call that was rejected here, that its caller gave up, or whose
//! verdict is `ignored` is [`Seen::Nothing`]: else our own rejections would open the breaker, which
//! rejects more, and a client could open it for everybody by leaving early.
//!
//! # How it comes back
//!
//! After the cool-down *probes* are let through, and nothing else: a dependency that has just come
//! back meets a few calls, not all that were held up. The pattern as Microsoft describes it closes after
//! a number of consecutive successes and reopens on the first failure; so does this one. There are
//! never more probes out than successes are missing. Each reopening doubles the cool-down up to a
//! limit; jitter on it keeps replicas, which all tripped in the same second, from probing in step.
//!
//! What keeps breakers from coming back at all, in other libraries, is a probe that never reports. So:
//! - a probe is taken after the permit, by a guard: no way out of a call can forget it, and a call that
//!   finds no room has not taken one;
//! - a probe that is dropped gives its place back, and counts for nothing;
//! - a probe that hangs is over at its expiry, and has failed then, whatever it says later.
//!
//! Every state has a number, its *era*, and every call carries the era in which it began. What was sent
//! before the breaker opened says nothing about the time after it: a result of another era changes
//! nothing.
//!
//! # The files
//!
//! [`settings`] holds the numbers and their rules, [`error`] what is wrong with them, [`rules`] when they
//! trip and for how long. [`window`] counts calls, [`probes`] holds who is out, [`machine`] decides;
//! [`transition`] is what it tells. All of these are pure: they take `now` and the jitter, and know no
//! clock, no lock and no atomics. [`cell`] shares a machine between threads, behind a [`word`] that
//! answers for it wherever it can. [`handle`] is what the public sees, and the way from a
//! transition to the queue and to the observers. `naive` is the machine once more, written for the tests without
//! partial sums and without haste.
//!
//! # Sources
//!
//! - Michael T. Nygard, *Release It!*, 2nd edition, 2018, chapter 5, "Circuit Breaker".
//! - Microsoft, Azure Architecture Center, "Circuit Breaker pattern": the half-open state, the count of
//!   consecutive successes, and a counter of failures that is bound to time.
//! - resilience4j, "CircuitBreaker": the time-based sliding window, failure rate and slow call rate,
//!   the minimum number of calls, and the two states that are set by hand.
//! - Finagle, "Clients: circuit breaking" and `FailureAccrualPolicy`; Linkerd, "Circuit breaking":
//!   consecutive failures, and a growing, jittered penalty.

mod cell;
mod error;
mod handle;
mod machine;
#[cfg(test)]
mod naive;
mod probes;
mod rules;
mod settings;
mod transition;
mod window;
mod word;

pub use error::BreakerPolicyError;
pub use handle::{Breaker, BreakerSnapshot};
pub use settings::BreakerPolicy;
pub(crate) use settings::{
    DEFAULT_OPEN_FOR, check_consecutive, check_failure_rate, check_max_open_for, check_min_calls,
    check_open_for, check_probes, check_slow, check_slow_below_timeout, check_slow_rate,
    check_window,
};
pub use transition::{BreakerCause, BreakerState, BreakerTransition};

pub(crate) use cell::Watch;
pub(crate) use machine::{Look, Seen};
