//! The only door to the clock.
//!
//! It is tokio's clock, so that `tokio::time::pause` moves everything: waits, timeouts, and the
//! instant at which a grant that nobody claims is taken back.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::task::unconstrained;
pub(crate) use tokio::time::Instant;
use tokio::time::{Sleep, sleep_until};

/// The present. Works without a runtime.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// `start + span`, at most about thirty years later, which is where tokio ends its own timers: nearer
/// to the end of the clock its arithmetic panics.
pub(crate) fn after(start: Instant, span: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);
    start + span.min(FAR)
}

/// An instant as a number: nanoseconds since one that all stamps of the process share, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(pub(crate) u64);

impl Stamp {
    #[cold]
    pub(crate) fn now() -> Self {
        Self::of(now())
    }

    pub(crate) fn of(instant: Instant) -> Self {
        static SHARED: OnceLock<Instant> = OnceLock::new();
        // An hour ago: a paused clock stands at the instant when it was paused, which may have been
        // before the first stamp.
        let shared = *SHARED.get_or_init(|| {
            let now = now();
            now.checked_sub(Duration::from_secs(3_600)).unwrap_or(now)
        });
        let since = instant.saturating_duration_since(shared).as_nanos();
        Self(u64::try_from(since).unwrap_or(u64::MAX).max(1))
    }

    pub(crate) fn elapsed(self) -> Duration {
        Duration::from_nanos(Self::now().0.saturating_sub(self.0))
    }
}

pin_project! {
    /// One timer that a call arms when it first has to wait, and re-arms for the next thing that it
    /// waits for. Unarmed it costs nothing and needs no runtime.
    #[derive(Debug, Default)]
    pub(crate) struct Timer {
        #[pin]
        sleep: Option<Sleep>,
    }
}

impl Timer {
    /// Ready once `instant` has come; until then the task is woken at `instant`.
    ///
    /// The timer is polled outside tokio's cooperative budget: a body that uses up the budget in
    /// every poll would otherwise never time out.
    ///
    /// # Panics
    /// When the timer has to be armed outside a tokio runtime with time enabled.
    pub(crate) fn poll_until(
        self: Pin<&mut Self>,
        instant: Instant,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let mut sleep = self.project().sleep;
        match sleep.as_mut().as_pin_mut() {
            Some(armed) if armed.deadline() == instant => {}
            Some(armed) => armed.reset(instant),
            None => sleep.set(Some(sleep_until(instant))),
        }
        let armed = sleep.as_pin_mut().expect("armed in the lines above");
        Pin::new(&mut unconstrained(armed)).poll(cx)
    }
}
