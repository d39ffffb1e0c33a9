//! The end of a body that has run out of time.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::{Running, Stage, Terms};
use crate::admission::Waited;
use crate::call::side::Side;
use crate::error::{BulkheadError, Origin};
use crate::frame::{self, Ended};
use crate::observer;
use crate::outcome::Outcome;
use crate::time::{self, Instant, Timer};

/// What bounds a body that runs: its timeout, or the deadline of the frame, whichever comes first.
pub(in crate::call) struct Limit {
    pub(super) at: Instant,
    began: Instant,
    /// `None` where it is the deadline.
    timeout: Option<Duration>,
}

impl Limit {
    /// Ready when the time of a body that is parked is over. Where nobody has looked at the clock before, the
    /// body counts from now.
    #[inline]
    pub(super) fn poll<S: Side>(
        timer: Pin<&mut Timer>,
        timeout: Option<Duration>,
        running: &mut Running,
        side: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<Self> {
        let deadline = frame::deadline();
        if timeout.is_none() && deadline.is_none() && !S::WATCHES {
            return Poll::Pending;
        }
        let began = *running.began.get_or_insert_with(time::now);
        side.began_by(began);
        let times_out = timeout.map(|timeout| Self {
            at: time::after(began, timeout),
            began,
            timeout: Some(timeout),
        });
        let times_out = times_out.filter(|limit| deadline.is_none_or(|by| limit.at <= by));
        let Some(limit) = times_out.or_else(|| deadline.map(|by| Self::of_deadline(by, began)))
        else {
            return Poll::Pending;
        };
        timer.poll_until(limit.at, cx).map(|()| limit)
    }

    /// Stops the body, whose time is over; tells the breakers before the permit is free, and the observers last.
    pub(super) fn stop<F, S: Side>(
        &self,
        terms: &Terms,
        mut body: Pin<&mut Option<F>>,
        side: &mut S,
        stage: &mut Stage,
    ) -> BulkheadError {
        let Stage::Running(running) = mem::replace(stage, Stage::Over) else {
            unreachable!("a body that is stopped runs")
        };
        if self.timeout.is_none() {
            Ended::note_stopped(frame::setter());
            if !side.set_deadline(self.at) {
                side.cut_short();
            }
        }
        let error = self.error(terms.origin, running.waited);
        // Locals, so that the permit is back even if the body's destructor panics.
        let mut flight = running.flight.expect("parked before its time was over");
        let traced = running.traced;
        flight.means(Outcome::TimedOut);
        side.end(Outcome::TimedOut);
        body.set(None);
        traced.close();
        drop(flight);
        observer::timed_out(terms.live, &error);
        error
    }

    pub(in crate::call) fn of_deadline(at: Instant, began: Instant) -> Self {
        Self {
            at,
            began,
            timeout: None,
        }
    }

    pub(in crate::call) fn error(&self, origin: Origin, waited: Option<Waited>) -> BulkheadError {
        let ran = time::now().saturating_duration_since(self.began);
        let waited = waited.map_or(Duration::ZERO, Waited::time);
        match self.timeout {
            Some(timeout) => BulkheadError::call_timeout(origin, waited, ran, timeout),
            None => BulkheadError::stopped_by_deadline(origin, waited, ran),
        }
    }
}
