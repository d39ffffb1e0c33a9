//! The states of a breaker and every move between them. Pure: it takes `now` and the jitter, and knows no
//! clock, no lock and no atomics.
//!
//! | state | owns | moves to | on |
//! |---|---|---|---|
//! | closed | the window, failures since the last success | open | a result that trips it |
//! | open | the end of the cool-down, openings in a row | half-open | the first ticket after that end |
//! | half-open | the probes, openings in a row | open | a probe that failed, was slow or outlived its expiry |
//! | | | closed | as many successes as there are `probes` |
//! | forced open | nothing | | by hand only |
//! | disabled | nothing | | by hand only |
//! | any | | forced open, disabled, closed | [`Machine::force_open`], [`Machine::disable`], [`Machine::reset`] |
//!
//! Every move begins a new era. A ticket carries the era in which it was taken; in any other it is void.
//!
//! Nothing happens by itself. That a cool-down is over, or that a probe has hung, is found by whoever
//! comes next; the hung probe reopens as of the instant when it expired, not of the one when somebody
//! found it, so a breaker that nobody asked in the meantime does not begin to cool down only then.

use std::time::Duration;

use super::probes::{ProbeNumber, Probes};
use super::rules::{Jitter, cool_down, trips};
use super::settings::Settings;
use super::transition::{BreakerCause, BreakerState, BreakerTransition, Moves};
use super::window::{Sample, Totals, Window, nanos};
use crate::time::Stamp;

/// How a call ended, as far as the breaker is concerned. `slow` counts only where the settings say what
/// is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The dependency did its work.
    Success { slow: bool },
    /// It failed, the body panicked, or the call timed out.
    Failure { slow: bool },
    /// The call was cut short from outside, but had been slow by then: slow, and neither a success nor a
    /// failure. So it ends no row of failures, and a hang is seen although all callers leave early.
    CutShort,
    /// It says nothing about the dependency: ignored, rejected, or cut short in time.
    Nothing,
}

/// What a call may do before it queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Go on; queue if need be.
    Pass,
    /// There may be a place for a probe: go on, but do not queue.
    HalfOpen,
    /// Do not go on.
    Open(Rejected),
}

/// A call does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rejected {
    /// The time until the next probe; `None` while it is forced open.
    pub(crate) retry_after: Option<Duration>,
}

impl Rejected {
    /// The later of two: forced open, which has no end, is later than any.
    pub(crate) fn later(self, other: Self) -> Self {
        let at = |rejected: Self| rejected.retry_after.unwrap_or(Duration::MAX);
        if at(self) >= at(other) { self } else { other }
    }
}

/// The right to make one call, and to report once how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "unless it is reported, a probe keeps its place until it expires, and reopens the breaker then"]
pub(crate) struct Ticket {
    era: u64,
    probe: Option<ProbeNumber>,
}

/// So many calls in a slice allow one success to be told later: where fewer come, each of them reads the clock.
const CALLS_FOR_A_GRANT: u32 = 256;

/// What the word has space for.
pub(super) const MOST_GRANTS: u32 = 255;

#[derive(Debug)]
pub(crate) struct Machine {
    settings: Settings,
    /// Grows with every move.
    era: u64,
    phase: Phase,
    /// Successes that may still be counted in the word, as it was written last.
    granted: u32,
}

/// A state, and what it owns. The table above says which moves are legal.
#[derive(Debug)]
enum Phase {
    Closed { window: Window, consecutive: u32 },
    Open { until: Stamp, openings: u32 },
    HalfOpen { probes: Probes, openings: u32 },
    ForcedOpen,
    Disabled,
}

impl Machine {
    pub(crate) const fn new(settings: Settings) -> Self {
        Self {
            settings,
            era: 0,
            phase: Phase::closed(&settings),
            granted: 0,
        }
    }

    /// How many successes may be counted in the word, with neither lock nor clock, until the machine is asked again.
    ///
    /// Some only while nothing is wrong: no call in the window failed or was slow, so that no success can change
    /// what the breaker does. And at most one for 256 in the slice of `now`: where calls are not many, each of them is
    /// told at once.
    pub(super) fn grants(&self, now: Stamp) -> u32 {
        match &self.phase {
            Phase::Closed {
                window,
                consecutive: 0,
            } => (window.calm_calls(now) / CALLS_FOR_A_GRANT).min(MOST_GRANTS),
            _ => 0,
        }
    }

    /// So many were written into the word.
    pub(super) const fn granted(&mut self, granted: u32) {
        self.granted = granted;
    }

    /// Of those that were granted in `era`, so many are left. The others count as of `now`: too late rather than too
    /// early, so that none is forgotten before its time.
    pub(super) fn settle(&mut self, now: Stamp, era: u64, left: u32) {
        if let Phase::Closed { window, .. } = &mut self.phase
            && era == self.era
        {
            window.record_good(now, self.granted.saturating_sub(left));
            self.granted = left;
        }
    }

    /// The look before queueing. It takes nothing, so it is free to change its mind.
    pub(crate) fn look(&mut self, now: Stamp, jitter: Jitter) -> (Look, Moves) {
        let reopened = self.reopen_if_outlived(now, jitter);
        let look = match &self.phase {
            Phase::Closed { .. } | Phase::Disabled => Look::Pass,
            Phase::Open { until, .. } if *until <= now => Look::HalfOpen,
            Phase::HalfOpen { probes, .. } if probes.has_place() => Look::HalfOpen,
            Phase::Open { .. } | Phase::HalfOpen { .. } | Phase::ForcedOpen => {
                Look::Open(self.rejected(now))
            }
        };
        (look, Moves::of(reopened, None))
    }

    /// Taken once the call has its permit. In half-open it is a probe, which has failed when it has not
    /// reported `expires_after` from now.
    ///
    /// # Errors
    /// The breaker is open, or every probe that it needs is out.
    pub(crate) fn ticket(
        &mut self,
        now: Stamp,
        jitter: Jitter,
        expires_after: Duration,
    ) -> (Result<Ticket, Rejected>, Moves) {
        let reopened = self.reopen_if_outlived(now, jitter);
        let half_opened = self.half_open_if_cooled_down(now);
        let era = self.era;
        let ticket = match &mut self.phase {
            Phase::Closed { .. } | Phase::Disabled => Some(Ticket { era, probe: None }),
            Phase::HalfOpen { probes, .. } => {
                probes.take(after(now, expires_after)).map(|probe| Ticket {
                    era,
                    probe: Some(probe),
                })
            }
            Phase::Open { .. } | Phase::ForcedOpen => None,
        };
        let result = ticket.ok_or_else(|| self.rejected(now));
        (result, Moves::of(reopened, half_opened))
    }

    /// How the call ended that has the ticket. The first report of a ticket counts, and only in its era.
    pub(crate) fn report(
        &mut self,
        now: Stamp,
        jitter: Jitter,
        ticket: Ticket,
        seen: Seen,
    ) -> Option<BreakerTransition> {
        if ticket.era != self.era {
            return None;
        }
        let Some(sample) = seen.sample(&self.settings) else {
            self.give_back(now, ticket);
            return None;
        };
        // It may be this one that hung; then its era is over now, and its result is late.
        if let Some(reopened) = self.reopen_if_outlived(now, jitter) {
            return Some(reopened);
        }
        match ticket.probe {
            None => self.count(now, jitter, seen, sample),
            Some(probe) => self.judge(now, jitter, probe, sample),
        }
    }

    /// The call that has the ticket ended and said nothing. No move: not even another probe that has hung is
    /// found by this, so that a guard can do it in its `Drop`.
    pub(crate) fn give_back(&mut self, now: Stamp, ticket: Ticket) {
        if let (Phase::HalfOpen { probes, .. }, Some(probe)) = (&mut self.phase, ticket.probe)
            && ticket.era == self.era
        {
            probes.give_back(probe, now);
        }
    }

    /// Gives a probe that is out a later end: it works, and what it does now may take its time.
    #[cfg(feature = "tower")]
    pub(crate) fn extend(&mut self, ticket: Ticket, until: Stamp) {
        if let (Phase::HalfOpen { probes, .. }, Some(probe)) = (&mut self.phase, ticket.probe)
            && ticket.era == self.era
        {
            probes.extend(probe, until);
        }
    }

    /// Lets no call pass until that is undone by hand.
    pub(crate) fn force_open(&mut self) -> Option<BreakerTransition> {
        self.by_hand(Phase::ForcedOpen)
    }

    /// Lets every call pass and counts none, until that is undone by hand.
    pub(crate) fn disable(&mut self) -> Option<BreakerTransition> {
        self.by_hand(Phase::Disabled)
    }

    /// Closes, and forgets everything: also where it is closed already, which is no transition.
    pub(crate) fn reset(&mut self) -> Option<BreakerTransition> {
        let closed = Phase::closed(&self.settings);
        if matches!(self.phase, Phase::Closed { .. }) {
            self.era += 1;
            self.phase = closed;
            None
        } else {
            self.by_hand(closed)
        }
    }

    pub(crate) const fn state(&self) -> BreakerState {
        self.phase.state()
    }

    pub(crate) const fn era(&self) -> u64 {
        self.era
    }

    /// The calls in the window; none unless it is closed.
    pub(crate) fn totals(&self, now: Stamp) -> Totals {
        match &self.phase {
            Phase::Closed { window, .. } => window.totals(now),
            _ => Totals::default(),
        }
    }

    /// When a call may pass that does not pass now, as far as can be said; `None` where nothing is in its
    /// way, or nothing but a hand could clear it.
    ///
    /// With all probes out that is not known. They end when the first expires at the latest, and nobody is
    /// sent away for longer than `open_for`.
    pub(crate) fn next_probe_at(&self, now: Stamp) -> Option<Stamp> {
        match &self.phase {
            Phase::Open { until, .. } => Some((*until).max(now)),
            Phase::HalfOpen { probes, .. } if probes.has_place() => Some(now),
            Phase::HalfOpen { probes, .. } => {
                let patience = after(now, self.settings.open_for());
                Some(
                    probes
                        .first_expiry()
                        .map_or(patience, |expiry| expiry.max(now).min(patience)),
                )
            }
            Phase::Closed { .. } | Phase::ForcedOpen | Phase::Disabled => None,
        }
    }

    /// The end of the cool-down, while it is open.
    pub(super) const fn open_until(&self) -> Option<Stamp> {
        match self.phase {
            Phase::Open { until, .. } => Some(until),
            _ => None,
        }
    }

    fn rejected(&self, now: Stamp) -> Rejected {
        let until = |next: Stamp| Duration::from_nanos(next.0.saturating_sub(now.0));
        Rejected {
            retry_after: self.next_probe_at(now).map(until),
        }
    }

    fn count(
        &mut self,
        now: Stamp,
        jitter: Jitter,
        seen: Seen,
        sample: Sample,
    ) -> Option<BreakerTransition> {
        let Phase::Closed {
            window,
            consecutive,
        } = &mut self.phase
        else {
            return None;
        };
        window.record(now, sample);
        *consecutive = match seen {
            Seen::Failure { .. } => consecutive.saturating_add(1),
            Seen::Success { .. } => 0,
            Seen::CutShort | Seen::Nothing => *consecutive,
        };
        let cause = trips(&self.settings, window.totals(now), *consecutive)?;
        Some(self.open(now, jitter, 1, cause))
    }

    fn judge(
        &mut self,
        now: Stamp,
        jitter: Jitter,
        probe: ProbeNumber,
        sample: Sample,
    ) -> Option<BreakerTransition> {
        let Phase::HalfOpen { probes, openings } = &mut self.phase else {
            return None;
        };
        if !probes.is_out(probe) {
            return None;
        }
        let openings = openings.saturating_add(1);
        if sample.failure {
            return Some(self.open(now, jitter, openings, BreakerCause::ProbeFailed));
        }
        if sample.slow {
            return Some(self.open(now, jitter, openings, BreakerCause::ProbeSlow));
        }
        let closed = Phase::closed(&self.settings);
        probes
            .succeed(probe)
            .then(|| self.enter(closed, BreakerCause::ProbesSucceeded))
    }

    fn reopen_if_outlived(&mut self, now: Stamp, jitter: Jitter) -> Option<BreakerTransition> {
        let Phase::HalfOpen { probes, openings } = &self.phase else {
            return None;
        };
        let expired = probes.outlived(now)?;
        Some(self.open(
            expired,
            jitter,
            openings.saturating_add(1),
            BreakerCause::ProbeExpired,
        ))
    }

    fn half_open_if_cooled_down(&mut self, now: Stamp) -> Option<BreakerTransition> {
        let Phase::Open { until, openings } = self.phase else {
            return None;
        };
        let probes = Probes::new(self.settings.probes());
        (until <= now).then(|| {
            self.enter(
                Phase::HalfOpen { probes, openings },
                BreakerCause::CooledDown,
            )
        })
    }

    fn open(
        &mut self,
        since: Stamp,
        jitter: Jitter,
        openings: u32,
        cause: BreakerCause,
    ) -> BreakerTransition {
        let open_for = cool_down(&self.settings, openings, jitter);
        let until = after(since, open_for);
        BreakerTransition {
            open_for: Some(open_for),
            ..self.enter(Phase::Open { until, openings }, cause)
        }
    }

    fn by_hand(&mut self, phase: Phase) -> Option<BreakerTransition> {
        (self.phase.state() != phase.state()).then(|| self.enter(phase, BreakerCause::ByHand))
    }

    fn enter(&mut self, phase: Phase, cause: BreakerCause) -> BreakerTransition {
        let from = self.phase.state();
        self.phase = phase;
        self.era += 1;
        BreakerTransition {
            from,
            to: self.phase.state(),
            era: self.era,
            cause,
            open_for: None,
        }
    }
}

impl Phase {
    const fn closed(settings: &Settings) -> Self {
        Self::Closed {
            window: Window::new(settings.window()),
            consecutive: 0,
        }
    }

    const fn state(&self) -> BreakerState {
        match self {
            Self::Closed { .. } => BreakerState::Closed,
            Self::Open { .. } => BreakerState::Open,
            Self::HalfOpen { .. } => BreakerState::HalfOpen,
            Self::ForcedOpen => BreakerState::ForcedOpen,
            Self::Disabled => BreakerState::Disabled,
        }
    }
}

impl Ticket {
    /// As it is given in an era in which every call passes.
    pub(super) const fn ordinary(era: u64) -> Self {
        Self { era, probe: None }
    }

    pub(super) const fn is_probe(self) -> bool {
        self.probe.is_some()
    }

    pub(super) const fn era(self) -> u64 {
        self.era
    }
}

impl Seen {
    /// What counts of it, if it counts.
    fn sample(self, settings: &Settings) -> Option<Sample> {
        let knows_slow = settings.slow().is_some();
        match self {
            Self::Success { slow } => Some(Sample {
                failure: false,
                slow: slow && knows_slow,
            }),
            Self::Failure { slow } => Some(Sample {
                failure: true,
                slow: slow && knows_slow,
            }),
            Self::CutShort => knows_slow.then_some(Sample {
                failure: false,
                slow: true,
            }),
            Self::Nothing => None,
        }
    }
}

fn after(start: Stamp, span: Duration) -> Stamp {
    Stamp(start.0.saturating_add(nanos(span)))
}

#[cfg(test)]
mod tests;
