//! Deadlines: an instant for everything that is done for one caller, only ever narrowed.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use crate::frame::{self, Setter};
use crate::time::{self, Instant};

/// The instant at which a caller has no more use for an answer.
///
/// It bounds everything that is done inside its [`scope`](Self::scope): a call waits no longer than until
/// then, whatever its `wait` says, and its body runs no longer, whatever its `timeout` says. A scope inside
/// a scope can only narrow it.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use bulkhead_runtime::{bulkhead, BulkheadError, Deadline};
///
/// #[bulkhead(name = "slow-partner", max = 4)]
/// async fn partner() -> Result<(), BulkheadError> {
///     std::future::pending().await
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let deadline = Deadline::after(Duration::from_millis(150));
/// let error = deadline.scope(partner()).await.unwrap_err();
/// assert!(matches!(error, BulkheadError::DeadlineExceeded(_)));
/// assert_eq!(deadline.remaining(), Duration::ZERO);
/// assert_eq!(Deadline::current(), None, "it holds inside its scope");
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(Instant);

impl Deadline {
    /// So long from now, but at most about thirty years: tokio's clock tells no more.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(time::after(time::now(), time))
    }

    /// That instant.
    #[must_use]
    pub const fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// The instant.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        self.0
    }

    /// The time that is left; zero when it has passed.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.saturating_duration_since(time::now())
    }

    /// The one that holds here: of the innermost scope or call around the code that asks. `None` outside
    /// of all.
    ///
    /// A task that was spawned with [`spawn`](crate::spawn) has that of the code that spawned it; one that
    /// was spawned with `tokio::spawn` has none.
    #[must_use]
    pub fn current() -> Option<Self> {
        frame::deadline().map(Self)
    }

    /// The earlier of both.
    #[must_use]
    pub fn narrowed(self, other: Self) -> Self {
        self.min(other)
    }

    /// Lets it hold for everything that is called inside `future`.
    ///
    /// It does not stop `future` itself: what bounds it are the calls in there. A call that is under way when
    /// the deadline passes ends as [`DeadlineExceeded`](crate::BulkheadError::DeadlineExceeded); one that comes
    /// later is rejected as such.
    ///
    /// # Panics
    /// As guarded calls do: one that has to wait or to be stopped needs a tokio runtime with time enabled.
    ///
    /// # Cancel safety
    /// That of `future`.
    pub fn scope<F: Future>(self, future: F) -> Scope<F> {
        // Nearer to the end of the clock, tokio's timers panic.
        let latest = Self::after(Duration::MAX);
        Scope {
            future,
            deadline: self.narrowed(latest),
            setter: None,
        }
    }
}

/// So long from now, as [`Deadline::after`].
impl From<Duration> for Deadline {
    fn from(time: Duration) -> Self {
        Self::after(time)
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Self {
        Self(instant)
    }
}

pin_project! {
    /// A future under a deadline; made by [`Deadline::scope`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Scope<F> {
        #[pin]
        future: F,
        deadline: Deadline,
        setter: Option<Setter>,
    }
}

impl<F: Future> Future for Scope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Not before: it is set where it is polled, and not where it was made.
        let setter = *this.setter.get_or_insert_with(Setter::new);
        let _narrowed = frame::narrow(this.deadline.0, setter);
        this.future.poll(cx)
    }
}

impl<F> fmt::Debug for Scope<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
