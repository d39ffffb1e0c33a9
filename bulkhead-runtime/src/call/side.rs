//! What stands beside a call's permit: nothing, or the breakers that want to know how it ends.

use std::time::Duration;

use super::attempt::{Attempt, Start};
use crate::breaker::{Breaker, Look, Seen, Watch};
use crate::frame::{self, Ended, Inside, Setter};
use crate::outcome::Outcome;
use crate::time::{self, Instant, Stamp};

/// What a call tells on its way, poll by poll.
pub(crate) trait Side: Default {
    /// Whether there can be a breaker.
    const WATCHES: bool;

    /// Whether the call is polled to its end, so that the clock may wait until it turns out not to end at once. A
    /// permit that is held by hand never says so.
    const IS_POLLED: bool;

    /// The call has its permit and began then; `None` where nobody looked at the clock.
    ///
    /// # Errors
    /// A breaker has no place for it; with the time until that has.
    fn board(
        &mut self,
        breakers: Breakers,
        timeout: Option<Duration>,
        began: Option<Instant>,
    ) -> Result<(), Option<Duration>>;

    /// It did not end in its first poll, and nobody had looked at the clock before.
    fn began_by(&mut self, now: Instant);

    /// When it began, if that is known.
    fn began(&self) -> Option<Instant>;

    /// Whether it wants to know what ends inside the body.
    fn listens(&self) -> bool;

    /// What ended inside the body since `before`, on this thread.
    fn note_inside(&mut self, before: Ended);

    /// Whether it has set that deadline by itself.
    fn set_deadline(&self, deadline: Instant) -> bool;

    /// It is stopped by a deadline that it has inherited.
    fn cut_short(&mut self);

    /// How it ended. What is told first counts.
    fn end(&mut self, outcome: Outcome);

    /// Which attempt of its call it is.
    #[inline]
    fn attempt(&self) -> Attempt {
        Attempt::ONLY
    }
}

/// A call that no breaker can watch.
#[derive(Debug, Default)]
pub(crate) struct Alone;

impl Side for Alone {
    const WATCHES: bool = false;
    const IS_POLLED: bool = true;

    #[inline]
    fn board(
        &mut self,
        _: Breakers,
        _: Option<Duration>,
        _: Option<Instant>,
    ) -> Result<(), Option<Duration>> {
        Ok(())
    }

    #[inline]
    fn began_by(&mut self, _: Instant) {}

    #[inline]
    fn began(&self) -> Option<Instant> {
        None
    }

    #[inline]
    fn listens(&self) -> bool {
        false
    }

    #[inline]
    fn note_inside(&mut self, _: Ended) {}

    #[inline]
    fn set_deadline(&self, _: Instant) -> bool {
        false
    }

    #[inline]
    fn cut_short(&mut self) {}

    #[inline]
    fn end(&mut self, _: Outcome) {}
}

/// A call that breakers may watch. Dropped before its end is told, it was left by its caller.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Of the operation, and of the partition.
    watches: [Option<(&'static Breaker, Watch<'static>)>; 2],
    began: Option<Instant>,
    /// Set when only the rest of its body is to come, which may take as long as it likes.
    ran: Option<Duration>,
    /// The longest time that it can run, if it bounds that by itself.
    longest: Option<Duration>,
    /// The deadline that it has set by itself.
    own: Option<(Instant, Setter)>,
    /// What its drop means.
    means: Option<Outcome>,
    is_cut_short: bool,
    attempt: Attempt,
    inside: Inside,
}

/// The breakers before a call: of the operation, and of the partition.
pub(crate) type Breakers = [Option<&'static Breaker>; 2];

/// Whether none of them wants the time of a call that comes now and succeeds at once.
#[inline]
pub(super) fn is_calm(breakers: Breakers) -> bool {
    breakers.into_iter().flatten().all(Breaker::is_calm)
}

/// The look before queueing, at each of them.
pub(super) fn look(breakers: Breakers) -> Look {
    let mut look = Look::Pass;
    for breaker in breakers.into_iter().flatten() {
        look = match (look, breaker.look()) {
            // The one that is open for longer decides when to come back.
            (Look::Open(one), Look::Open(other)) => Look::Open(one.later(other)),
            (Look::Open(one), _) | (_, Look::Open(one)) => Look::Open(one),
            (Look::HalfOpen, _) | (_, Look::HalfOpen) => Look::HalfOpen,
            (Look::Pass, Look::Pass) => Look::Pass,
        };
    }
    look
}

impl Watched {
    /// Notes what an attempt begins with.
    pub(super) fn start(&mut self, start: Start) {
        self.attempt = start.attempt;
        self.bounds(start.longest, start.own);
    }

    /// Notes the longest time that it can run, and the deadline that it has set by itself.
    pub(super) fn bounds(&mut self, longest: Option<Duration>, own: Option<(Instant, Setter)>) {
        self.longest = longest;
        self.own = own;
    }

    /// Watches a call that began in these eras, at no particular time.
    pub(super) fn watch(&mut self, tickets: [Option<(&'static Breaker, u64)>; 2]) {
        self.watches = tickets.map(|ticket| {
            let (breaker, era) = ticket?;
            Some((breaker, breaker.watch_in(era)))
        });
    }

    /// From now on, its drop means `outcome`.
    pub(crate) fn means(&mut self, outcome: Outcome) {
        self.means = Some(outcome);
    }

    /// Its time stops; how it ends is still to come, within `longest`. How long it takes from here on, and whether it
    /// comes to its end at all, is for its client to say, and nothing about the dependency.
    #[cfg(feature = "tower")]
    pub(crate) fn stop_clock(&mut self, longest: Duration) {
        if self.is_watched() {
            self.is_cut_short = true;
            self.ran = Some(self.ran_until(time::now()));
            for (_, watch) in self.watches.iter().flatten() {
                watch.extend(longest);
            }
        }
    }

    #[inline]
    fn is_watched(&self) -> bool {
        self.watches.iter().any(Option::is_some)
    }

    fn ran_until(&self, now: Instant) -> Duration {
        let began = self.began.unwrap_or(now);
        self.ran
            .unwrap_or_else(|| now.saturating_duration_since(began))
    }

    /// The last one outside of it that can have set a deadline: a call inside that was stopped by that one's, or by
    /// an earlier one, was stopped by the callers of this one.
    fn callers(&self) -> Setter {
        self.own.map_or_else(frame::setter, |(_, own)| own.before())
    }

    /// What a breaker sees of it that calls a call slow from `slow` on.
    fn seen(&self, outcome: Outcome, now: Instant, slow: Option<Duration>) -> Seen {
        let ran = self.ran_until(now);
        let is_slow = slow.is_some_and(|slow| ran >= slow);
        let cut_short = || {
            if is_slow {
                Seen::CutShort
            } else if self.longest.is_some_and(|longest| ran >= longest)
                || self.own.is_some_and(|(own, _)| own <= now)
            {
                // Nobody polled it at the end of its own time, or somebody inside was before it.
                Seen::Failure { slow: false }
            } else {
                Seen::Nothing
            }
        };
        match outcome {
            Outcome::Success => Seen::Success { slow: is_slow },
            Outcome::Failure if self.inside.was_rejected() => Seen::Nothing,
            Outcome::Failure if self.inside.was_stopped_by(self.callers()) => cut_short(),
            Outcome::TimedOut if self.is_cut_short => cut_short(),
            Outcome::Failure | Outcome::TimedOut | Outcome::Panicked => {
                Seen::Failure { slow: is_slow }
            }
            Outcome::Cancelled => cut_short(),
            Outcome::Ignored | Outcome::Unstarted => Seen::Nothing,
        }
    }
}

impl Side for Watched {
    const WATCHES: bool = true;
    const IS_POLLED: bool = true;

    fn board(
        &mut self,
        breakers: Breakers,
        timeout: Option<Duration>,
        began: Option<Instant>,
    ) -> Result<(), Option<Duration>> {
        self.began = began;
        self.longest = self.longest.or(timeout);
        for (place, breaker) in self.watches.iter_mut().zip(breakers) {
            let Some(breaker) = breaker else { continue };
            match breaker.board(self.longest) {
                Ok(watch) => *place = Some((breaker, watch)),
                Err(rejected) => {
                    // A probe that another of them has given goes back.
                    self.end(Outcome::Unstarted);
                    return Err(rejected.retry_after);
                }
            }
        }
        Ok(())
    }

    fn began_by(&mut self, now: Instant) {
        self.began.get_or_insert(now);
    }

    fn began(&self) -> Option<Instant> {
        self.began
    }

    #[inline]
    fn listens(&self) -> bool {
        true
    }

    #[inline]
    fn note_inside(&mut self, before: Ended) {
        if before.end() {
            before.note(&mut self.inside);
        }
    }

    fn set_deadline(&self, deadline: Instant) -> bool {
        self.own.is_some_and(|(own, _)| own == deadline)
    }

    fn cut_short(&mut self) {
        self.is_cut_short = true;
    }

    #[inline]
    fn end(&mut self, outcome: Outcome) {
        if outcome == Outcome::Success && self.began.is_none() && self.ran.is_none() {
            for place in &mut self.watches {
                place.take_if(|(_, watch)| watch.succeeded_at_once());
            }
        }
        if self.is_watched() {
            self.tell(outcome);
        }
    }

    #[inline]
    fn attempt(&self) -> Attempt {
        self.attempt
    }
}

impl Watched {
    #[inline(never)]
    fn tell(&mut self, outcome: Outcome) {
        let now = time::now();
        for at in 0..self.watches.len() {
            if let Some((breaker, watch)) = self.watches[at].take() {
                let seen = self.seen(outcome, now, breaker.slow());
                breaker.saw(watch, Stamp::of(now), seen);
            }
        }
    }
}

impl Drop for Watched {
    #[inline]
    fn drop(&mut self) {
        if self.is_watched() {
            self.tell(self.means.unwrap_or(Outcome::Cancelled));
        }
    }
}

/// One that is made only where there is a breaker: where nobody knows beforehand, the usual call is no larger for it.
pub(crate) type Boxed = Option<Box<Watched>>;

impl Side for Boxed {
    const WATCHES: bool = true;
    const IS_POLLED: bool = false;

    fn board(
        &mut self,
        breakers: Breakers,
        timeout: Option<Duration>,
        began: Option<Instant>,
    ) -> Result<(), Option<Duration>> {
        self.get_or_insert_default().board(breakers, timeout, began)
    }

    fn began_by(&mut self, now: Instant) {
        if let Some(watched) = self {
            watched.began_by(now);
        }
    }

    fn began(&self) -> Option<Instant> {
        self.as_ref().and_then(|watched| watched.began)
    }

    #[inline]
    fn listens(&self) -> bool {
        self.is_some()
    }

    fn note_inside(&mut self, before: Ended) {
        match self {
            Some(watched) => watched.note_inside(before),
            // It was listened to all the same.
            None => _ = before.end(),
        }
    }

    fn set_deadline(&self, deadline: Instant) -> bool {
        self.as_ref()
            .is_some_and(|watched| watched.set_deadline(deadline))
    }

    fn cut_short(&mut self) {
        if let Some(watched) = self {
            watched.cut_short();
        }
    }

    fn end(&mut self, outcome: Outcome) {
        if let Some(watched) = self {
            watched.end(outcome);
        }
    }
}
