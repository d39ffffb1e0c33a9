//! Random histories against a reference model, and against counts kept by callers and bodies; two in three of
//! them while somebody listens, one in three under a breaker.

mod common;

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{
    BreakerPolicy, BreakerState, BulkheadError, Deadline, Event, Measured, Mode, Observer,
    Override, Overrides, Partition, Policy, Snapshot, Verdict, Wants, configure, register,
    subscribe,
};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::time::{Instant, advance};

const WAIT: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_millis(25);

/// Of those under a breaker, how long their calls are said to take: with less time left none is begun.
const MEAN: u64 = 2;

/// In milliseconds. What a breaker counts it remembers for nine tenths of this at least, and that is longer than a
/// history takes; but for its long pauses, which are longer than this.
const WINDOW: u64 = 60_000;
const PAUSE: u64 = 61_000;

/// What a test does next; an index picks among the calls that there are.
#[derive(Debug, Clone)]
enum Step {
    /// `call`, with a timeout, polled once; perhaps under a deadline in so many milliseconds.
    Call(Option<u64>),
    /// `enter_by` in so many milliseconds, polled once; the permit is then held by hand. Perhaps under a deadline
    /// as well.
    EnterBy(u64, Option<u64>),
    TryEnter,
    /// The same inside a call of another partition.
    TryEnterInside,
    Poll(Index),
    Drop(Index),
    /// Lets a body end at its next poll.
    Finish(Index, End),
    /// The same, and polls it.
    End(Index, End),
    Resize(u32),
    Mode(Mode),
    /// `configure` of the queue, of the wait in milliseconds, or of both.
    Configure(Option<u32>, Option<u64>),
    TakeSnapshot,
    Close,
    /// Closes for those that are not inside, and waits for nobody.
    Drain,
    Reopen,
    Pass(u64),
    /// Long enough for a breaker to forget what it has counted.
    Pause,
    /// Somebody moves the breaker by hand.
    Hand(Hand),
}

#[derive(Debug, Clone, Copy)]
enum Hand {
    ForceOpen,
    Disable,
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let end = || {
        prop_oneof![
            1 => Just(End::Panic),
            2 => Just(End::Return(Verdict::Success)),
            1 => Just(End::Return(Verdict::Failure)),
            1 => Just(End::Return(Verdict::Ignored))
        ]
    };
    // Half as often out of the usual mode as back into it.
    let mode = prop_oneof![
        4 => Just(Mode::Enforce),
        1 => Just(Mode::Observe),
        1 => Just(Mode::Off)
    ];
    let queue = prop::option::weighted(0.8, 0..5_u32);
    let wait = prop::option::weighted(0.8, 1..20_u64);
    let deadline = || prop::option::weighted(0.25, 0..30_u64);
    // More often back than open for good.
    let hand = prop_oneof![
        1 => Just(Hand::ForceOpen),
        1 => Just(Hand::Disable),
        3 => Just(Hand::Reset)
    ];
    prop_oneof![
        6 => deadline().prop_map(Step::Call),
        2 => (0..20_u64, deadline()).prop_map(|(until, deadline)| Step::EnterBy(until, deadline)),
        1 => Just(Step::TryEnter),
        1 => Just(Step::TryEnterInside),
        7 => any::<Index>().prop_map(Step::Poll),
        6 => any::<Index>().prop_map(Step::Drop),
        4 => (any::<Index>(), end()).prop_map(|(call, end)| Step::Finish(call, end)),
        4 => (any::<Index>(), end()).prop_map(|(call, end)| Step::End(call, end)),
        1 => (1..5_u32).prop_map(Step::Resize),
        3 => mode.prop_map(Step::Mode),
        1 => (queue, wait).prop_map(|(queue, wait)| Step::Configure(queue, wait)),
        1 => Just(Step::TakeSnapshot),
        1 => Just(Step::Close),
        1 => Just(Step::Drain),
        2 => Just(Step::Reopen),
        3 => (1..14_u64).prop_map(Step::Pass),
        2 => hand.prop_map(Step::Hand),
        1 => prop::option::weighted(0.2, Just(())).prop_map(|pause| pause.map_or(Step::Pass(1), |()| Step::Pause)),
    ]
}

/// The numbers of a breaker; times in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    min_calls: usize,
    consecutive: Option<u32>,
    slow: Option<u64>,
    probes: usize,
    open_for: u64,
    max_open_for: u64,
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let consecutive = prop::option::weighted(0.7, 1..4_u32);
    let slow = prop::option::of(1..20_u64);
    (2..6_usize, consecutive, slow, 1..4_usize, 1..8_u64).prop_map(
        |(min_calls, consecutive, slow, probes, open_for)| Numbers {
            min_calls,
            consecutive,
            slow,
            probes,
            open_for,
            max_open_for: 3 * open_for,
        },
    )
}

impl Numbers {
    fn policy(self) -> BreakerPolicy {
        let count = |number: usize| u32::try_from(number).expect("a few");
        let policy = BreakerPolicy::new()
            .with_min_calls(count(self.min_calls))
            .with_failure_rate(50.0)
            .with_window(ms(WINDOW))
            .with_open_for(ms(self.open_for))
            .with_max_open_for(ms(self.max_open_for))
            .with_probes(count(self.probes));
        let policy = match self.consecutive {
            Some(failures) => policy.with_consecutive(failures),
            None => policy,
        };
        match self.slow {
            Some(slow) => policy.with_slow(ms(slow)),
            None => policy,
        }
    }

    fn cool_down(self, openings: u32) -> u64 {
        let grown = (1..openings).fold(self.open_for, |time, _| (time * 2).min(self.max_open_for));
        grown.min(self.max_open_for)
    }
}

/// What a breaker is, in plain code: a list of calls, or of probes.
#[derive(Debug)]
struct Breaker {
    numbers: Numbers,
    /// How often it has begun anew; what began before is not its business any more.
    era: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Closed {
        calls: Vec<Counted>,
        in_a_row: u32,
    },
    Open {
        since: u64,
        openings: u32,
    },
    HalfOpen {
        out: Vec<Probe>,
        succeeded: usize,
        openings: u32,
    },
    ForcedOpen,
    Disabled,
}

#[derive(Debug, Clone, Copy)]
struct Counted {
    at: u64,
    failed: bool,
    slow: bool,
    /// Neither a success nor a failure.
    cut_short: bool,
}

#[derive(Debug, Clone, Copy)]
struct Probe {
    call: u64,
    expires: u64,
}

/// What a call remembers that passed a breaker.
#[derive(Debug, Clone, Copy)]
struct Ticket {
    era: u64,
    is_probe: bool,
    began: u64,
    /// The longest time that it runs, if it bounds that by itself.
    longest: Option<u64>,
}

/// How a call ended that a breaker let pass.
#[derive(Debug, Clone, Copy)]
enum Ended {
    Worked,
    Failed,
    /// By its caller, or by a deadline that it did not set.
    CutShort,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Look {
    Pass,
    HalfOpen,
    Open,
}

impl Breaker {
    fn new(numbers: Numbers) -> Self {
        let mut breaker = Self {
            numbers,
            era: 0,
            state: State::Disabled,
        };
        breaker.close();
        breaker
    }

    fn close(&mut self) {
        self.become_state(State::Closed {
            calls: Vec::new(),
            in_a_row: 0,
        });
    }

    fn open(&mut self, since: u64, openings: u32) {
        self.become_state(State::Open { since, openings });
    }

    fn become_state(&mut self, state: State) {
        self.era += 1;
        self.state = state;
    }

    /// When a probe expired first that has not been heard of since.
    fn expired(&self, now: u64) -> Option<(u64, u32)> {
        let State::HalfOpen { out, openings, .. } = &self.state else {
            return None;
        };
        let first = out.iter().map(|probe| probe.expires).min()?;
        (first < now).then_some((first, openings + 1))
    }

    /// Whether it opened.
    fn expires(&mut self, now: u64) -> bool {
        let expired = self.expired(now);
        if let Some((since, openings)) = expired {
            self.open(since, openings);
        }
        expired.is_some()
    }

    /// The least and the most that its cool-down lasts from its start: nobody but itself knows more.
    fn cools_down(&self, openings: u32) -> (u64, u64) {
        let least = self.numbers.cool_down(openings);
        (least, (least * 6).div_ceil(5))
    }

    /// Whether only it knows if the cool-down is over.
    fn is_in_doubt(&self, now: u64) -> bool {
        let (since, openings) = match (&self.state, self.expired(now)) {
            (_, Some(expired)) => expired,
            (State::Open { since, openings }, None) => (*since, *openings),
            _ => return false,
        };
        let (least, most) = self.cools_down(openings);
        (since + least..since + most).contains(&now)
    }

    fn look(&self, now: u64) -> Look {
        match &self.state {
            State::Closed { .. } | State::Disabled => Look::Pass,
            State::Open { since, openings } => {
                if now < since + self.cools_down(*openings).0 {
                    Look::Open
                } else {
                    Look::HalfOpen
                }
            }
            State::HalfOpen { out, succeeded, .. } => {
                if out.len() + succeeded < self.numbers.probes {
                    Look::HalfOpen
                } else {
                    Look::Open
                }
            }
            State::ForcedOpen => Look::Open,
        }
    }

    fn board(&mut self, call: u64, now: u64, longest: Option<u64>) -> Option<Ticket> {
        let look = self.look(now);
        if let (Look::HalfOpen, &State::Open { openings, .. }) = (look, &self.state) {
            self.become_state(State::HalfOpen {
                out: Vec::new(),
                succeeded: 0,
                openings,
            });
        }
        let expires = now + longest.unwrap_or(self.numbers.open_for);
        if let (Look::HalfOpen, State::HalfOpen { out, .. }) = (look, &mut self.state) {
            out.push(Probe { call, expires });
        }
        (look != Look::Open).then_some(Ticket {
            era: self.era,
            is_probe: look == Look::HalfOpen,
            began: now,
            longest,
        })
    }

    /// What counts of a call.
    fn counts(&self, ticket: Ticket, now: u64, ended: Ended) -> Option<Counted> {
        let ran = now - ticket.began;
        let slow = self.numbers.slow.is_some_and(|slow| ran >= slow);
        let counted = Counted {
            at: now,
            failed: matches!(ended, Ended::Failed),
            slow,
            cut_short: false,
        };
        match ended {
            Ended::Worked | Ended::Failed => Some(counted),
            Ended::CutShort if slow => Some(Counted {
                cut_short: true,
                ..counted
            }),
            Ended::CutShort => {
                let ran_out = ticket.longest.is_some_and(|longest| ran >= longest);
                ran_out.then_some(Counted {
                    failed: true,
                    ..counted
                })
            }
            Ended::Nothing => None,
        }
    }

    /// Whether it opened.
    fn hears(&mut self, call: u64, ticket: Ticket, now: u64, ended: Ended) -> bool {
        if ticket.era != self.era {
            return false;
        }
        let Some(counted) = self.counts(ticket, now, ended) else {
            if let State::HalfOpen { out, .. } = &mut self.state {
                out.retain(|probe| probe.call != call || probe.expires < now);
            }
            return false;
        };
        if self.expires(now) {
            return true;
        }
        let numbers = self.numbers;
        match &mut self.state {
            State::Closed { calls, in_a_row } => {
                calls.push(counted);
                if counted.failed {
                    *in_a_row += 1;
                } else if !counted.cut_short {
                    *in_a_row = 0;
                }
                let in_a_row = *in_a_row;
                let (all, failed, slow) = self.totals(now);
                let is_half = |some: u64| 2 * some >= all;
                let trips = numbers.consecutive.is_some_and(|most| in_a_row >= most)
                    || all >= numbers.min_calls as u64
                        && (is_half(failed) || numbers.slow.is_some() && is_half(slow));
                if trips {
                    self.open(now, 1);
                }
                trips
            }
            State::HalfOpen {
                out,
                succeeded,
                openings,
            } if ticket.is_probe => {
                let openings = *openings + 1;
                if counted.failed || counted.slow {
                    self.open(now, openings);
                    return true;
                }
                out.retain(|probe| probe.call != call);
                *succeeded += 1;
                if *succeeded == numbers.probes {
                    self.close();
                }
                false
            }
            _ => false,
        }
    }

    /// Calls, failures and slow calls that it remembers.
    fn totals(&self, now: u64) -> (u64, u64, u64) {
        let State::Closed { calls, .. } = &self.state else {
            return (0, 0, 0);
        };
        let remembered = || calls.iter().filter(|call| call.at + WINDOW > now);
        (
            remembered().count() as u64,
            remembered().filter(|call| call.failed).count() as u64,
            remembered().filter(|call| call.slow).count() as u64,
        )
    }

    fn public_state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
            State::ForcedOpen => BreakerState::ForcedOpen,
            State::Disabled => BreakerState::Disabled,
        }
    }

    /// Whether it opened.
    fn hand(&mut self, hand: Hand) -> bool {
        match (hand, &self.state) {
            (Hand::ForceOpen, State::ForcedOpen) | (Hand::Disable, State::Disabled) => false,
            (Hand::ForceOpen, _) => {
                self.become_state(State::ForcedOpen);
                true
            }
            (Hand::Disable, _) => {
                self.become_state(State::Disabled);
                false
            }
            (Hand::Reset, _) => {
                self.close();
                false
            }
        }
    }

    /// What a call is told that it does not let pass: the least and the most in milliseconds, if anything.
    fn retry_after(&self, now: u64) -> Option<(u64, u64)> {
        match &self.state {
            State::Open { since, openings } => {
                let (least, most) = self.cools_down(*openings);
                let left = |cool_down: u64| (since + cool_down).saturating_sub(now);
                Some((left(least), left(most)))
            }
            State::HalfOpen { out, .. } if self.look(now) == Look::Open => {
                let first = out.iter().map(|probe| probe.expires).min();
                let patience = now + self.numbers.open_for;
                let left = first.map_or(patience, |first| first.min(patience)) - now;
                Some((left, left))
            }
            State::ForcedOpen => None,
            // Those that were turned away, and look later.
            State::HalfOpen { .. } | State::Closed { .. } | State::Disabled => Some((0, 0)),
        }
    }
}

/// The reference: what a partition is, in plain code that knows no concurrency. Times are in
/// milliseconds, and calls are known by number.
#[derive(Debug, Default)]
struct Model {
    max: usize,
    queue: usize,
    wait: u64,
    mode: Mode,
    now: u64,
    closed: bool,
    /// Closed, but not for those inside.
    drains: bool,
    running: Vec<u64>,
    waiting: Vec<Waiting>,
    granted: Vec<Waiting>,
    /// Lost a grant or a place, and was counted; the caller has not looked yet.
    told_later: Vec<u64>,
    counts: Rejections,
    admitted: u64,
    /// Ended while it was off.
    uncounted: u64,
    would_reject: u64,
    would_wait: u64,
    highest: Highest,
    listens: Listens,
    /// What is said to be the time of a call.
    mean: u64,
    breaker: Option<Breaker>,
    tickets: HashMap<u64, Ticket>,
    /// Those of `told_later` that a breaker has turned away.
    turned_away: Vec<u64>,
}

/// A call that comes.
#[derive(Debug, Clone, Copy)]
struct Newcomer {
    call: u64,
    /// In the place of `wait`.
    until: Option<u64>,
    deadline: Option<u64>,
    may_queue: bool,
    longest: Option<u64>,
    /// Of a call that has a permit of another partition.
    is_inside: bool,
}

/// What somebody is told of in a history. It changes nothing but who is looked at closely, and so when it
/// is noticed that others are out of time.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
enum Listens {
    #[default]
    Nobody,
    ToSaturation,
    ToAdmissions,
}

const OUT_OF_ORDER: u64 = u64::MAX;

/// Counts the turns of one partition, and holds them against each other.
struct Listener {
    name: &'static str,
    wants: Wants,
    turns: Arc<AtomicU64>,
}

impl Observer for Listener {
    fn observe(&self, event: &Event<'_>) {
        if event.partition().name() != self.name {
            return;
        }
        let turn = match event {
            Event::Saturated { episode, .. } => 2 * episode - 1,
            Event::Relieved { episode, .. } => 2 * episode,
            _ => return,
        };
        // A panic here would harm nothing, and so fail nothing.
        let before = self.turns.load(Ordering::Relaxed);
        let in_order = before.checked_add(1) == Some(turn);
        let now = if in_order { turn } else { OUT_OF_ORDER };
        self.turns.store(now, Ordering::Relaxed);
    }

    fn wants(&self) -> Wants {
        self.wants
    }
}

/// The most at once since the last `take_snapshot`.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
struct Highest {
    in_use: usize,
    waiting: usize,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    call: u64,
    until: u64,
    /// Of the caller's own; otherwise the policy's `wait`.
    is_deadline: bool,
    /// When the one before it is out of time, if that is sooner.
    watch: Option<u64>,
    longest: Option<u64>,
}

/// Calls whose body never started.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
struct Rejections {
    full: u64,
    wait_timeout: u64,
    deadline: u64,
    closed: u64,
    abandoned: u64,
    breaker_open: u64,
}

impl Model {
    fn in_use(&self) -> usize {
        self.running.len() + self.granted.len()
    }

    fn has_room(&self) -> bool {
        match self.mode {
            Mode::Enforce | Mode::Observe => self.in_use() < self.max,
            Mode::Off => true,
        }
    }

    /// Whether a newcomer that fits is let in without a closer look.
    fn is_let_in_at_once(&self) -> bool {
        let limit = match self.listens {
            Listens::Nobody => self.max,
            Listens::ToSaturation => self.max - 1,
            Listens::ToAdmissions => 0,
        };
        !self.closed && self.waiting.is_empty() && (self.mode == Mode::Off || self.in_use() < limit)
    }

    /// Whether there is no permit left, and somebody is told of that.
    fn is_saturated(&self) -> bool {
        self.listens != Listens::Nobody && self.mode != Mode::Off && self.in_use() >= self.max
    }

    fn enter(&mut self, newcomer: Newcomer) {
        let latest = newcomer.deadline.map(|by| by - self.mean);
        let end = newcomer.until.into_iter().chain(latest).min();
        let is_spent = end.is_some_and(|end| end <= self.now);
        if self.mode != Mode::Enforce {
            return self.let_in(newcomer, is_spent);
        }
        if is_spent {
            self.counts.deadline += 1;
            return;
        }
        let look = self.looks();
        if look == Look::Open {
            self.counts.breaker_open += 1;
            return;
        }
        let may_queue = newcomer.may_queue && look == Look::Pass;
        self.enter_gate(newcomer, end, may_queue);
        if self.running.contains(&newcomer.call) {
            let boards = self.boards(newcomer.call, newcomer.longest);
            assert!(boards, "it has just been asked");
        }
    }

    fn enter_gate(&mut self, newcomer: Newcomer, end: Option<u64>, may_queue: bool) {
        let call = newcomer.call;
        let passes_by = self.is_let_in_at_once();
        let is_full =
            !self.has_room() && self.waiting.len() >= self.queue && self.granted.is_empty();
        let at_once = is_full && !self.closed && (end.is_none() || !may_queue);
        if !passes_by && !at_once {
            if may_queue {
                self.clear_overdue();
            } else {
                self.recover();
            }
            self.hand_over();
        }
        if self.closed && !(self.drains && newcomer.is_inside) {
            self.counts.closed += 1;
        } else if self.has_room() && self.waiting.is_empty() {
            self.run(call);
        } else if may_queue && self.waiting.len() < self.queue {
            let wait = self.now + self.wait;
            let ends = end.filter(|&end| newcomer.until.is_some() || end < wait);
            let until = ends.unwrap_or(wait);
            let before = self.waiting.last().or(self.granted.last());
            let watch = before.and_then(|before| {
                let ends_sooner = before.until < until;
                if ends_sooner {
                    Some(before.until)
                } else {
                    before.watch
                }
            });
            self.waiting.push(Waiting {
                call,
                until,
                is_deadline: ends.is_some(),
                watch,
                longest: newcomer.longest,
            });
            self.highest.waiting = self.highest.waiting.max(self.waiting.len());
            if watch.is_some_and(|watch| watch <= self.now) {
                self.watch_again(call);
            }
        } else {
            self.counts.full += 1;
        }
    }

    /// The same in a mode that rejects nobody.
    fn let_in(&mut self, newcomer: Newcomer, is_spent: bool) {
        let call = newcomer.call;
        let observes = self.mode == Mode::Observe;
        let passes = !observes || self.boards(call, newcomer.longest);
        // Half-open, nobody waits.
        let is_probe = self
            .tickets
            .get(&call)
            .is_some_and(|ticket| ticket.is_probe);
        let would_wait = newcomer.may_queue && !is_probe;
        if is_spent || !passes || !self.is_let_in_at_once() {
            if would_wait || is_spent || !passes {
                self.clear_overdue();
            } else {
                self.recover();
            }
        }
        if self.closed && !(self.drains && newcomer.is_inside) {
            self.counts.closed += 1;
            return self.tells(call, Ended::Nothing);
        }
        let places = if would_wait { self.queue } else { 0 };
        let has_place = self.in_use() < self.max + places;
        if observes && (is_spent || !passes || !has_place) {
            self.would_reject += 1;
        } else if observes && !self.has_room() {
            self.would_wait += 1;
        }
        self.run(call);
    }

    /// The look at the breaker before the queue.
    fn looks(&mut self) -> Look {
        let now = self.now;
        let Some(breaker) = &mut self.breaker else {
            return Look::Pass;
        };
        let opened = breaker.expires(now);
        let look = breaker.look(now);
        self.flush(opened);
        look
    }

    /// A call that has its permit comes to the breaker; whether that lets it pass.
    fn boards(&mut self, call: u64, longest: Option<u64>) -> bool {
        let now = self.now;
        let Some(breaker) = &mut self.breaker else {
            return true;
        };
        let opened = breaker.expires(now);
        let ticket = breaker.board(call, now, longest);
        self.flush(opened);
        if let Some(ticket) = ticket {
            self.tickets.insert(call, ticket);
        }
        ticket.is_some()
    }

    /// The breaker hears how a call ended, if it has let it pass.
    fn tells(&mut self, call: u64, ended: Ended) {
        let now = self.now;
        if let (Some(breaker), Some(ticket)) = (&mut self.breaker, self.tickets.remove(&call)) {
            let opened = breaker.hears(call, ticket, now, ended);
            self.flush(opened);
        }
    }

    fn hand(&mut self, hand: Hand) {
        let opened = self
            .breaker
            .as_mut()
            .is_some_and(|breaker| breaker.hand(hand));
        self.flush(opened);
    }

    /// The breaker has opened: nobody waits any more.
    fn flush(&mut self, opened: bool) {
        if opened {
            self.counts.breaker_open += self.waiting.len() as u64;
            let calls = self.waiting.drain(..).map(|waiting| waiting.call);
            let at = self.told_later.len();
            self.told_later.extend(calls);
            self.turned_away.extend_from_slice(&self.told_later[at..]);
        }
    }

    /// Takes back what is overdue, grants and places in the queue, and hands on what came back.
    fn clear_overdue(&mut self) {
        let now = self.now;
        let granted = self.granted.extract_if(.., |waiting| waiting.until <= now);
        let waiting = self.waiting.extract_if(.., |waiting| waiting.until <= now);
        let overdue: Vec<_> = granted.chain(waiting).collect();
        for waiting in overdue {
            self.late(waiting);
            self.told_later.push(waiting.call);
        }
        self.hand_over();
    }

    /// The same, where somebody has not claimed a grant; otherwise nobody looks at the clock.
    fn recover(&mut self) {
        if !self.granted.is_empty() {
            self.clear_overdue();
        }
    }

    fn hand_over(&mut self) {
        // Where nobody is rejected, nobody waits.
        while (self.mode != Mode::Enforce || self.has_room()) && !self.waiting.is_empty() {
            self.granted.push(self.waiting.remove(0));
            self.highest.in_use = self.highest.in_use.max(self.in_use());
        }
    }

    fn late(&mut self, waiting: Waiting) {
        *if waiting.is_deadline {
            &mut self.counts.deadline
        } else {
            &mut self.counts.wait_timeout
        } += 1;
    }

    fn run(&mut self, call: u64) {
        self.admitted += 1;
        self.running.push(call);
        self.highest.in_use = self.highest.in_use.max(self.in_use());
    }

    /// A call that waits looks: it runs, learns that it may not, or waits on.
    fn look(&mut self, call: u64) {
        if let Some(at) = self.granted.iter().position(|waiting| waiting.call == call) {
            let waiting = self.granted.remove(at);
            if self.now < waiting.until {
                return self.claim(waiting);
            }
            self.late(waiting);
        } else if let Some(at) = self.waiting.iter().position(|waiting| waiting.call == call) {
            let now = self.now;
            let waiting = &mut self.waiting[at];
            if waiting.watch.take_if(|watch| *watch <= now).is_some() {
                self.clear_overdue();
                self.watch_again(call);
                return self.look(call);
            }
            if waiting.watch.is_some() || now < waiting.until {
                return;
            }
            let waiting = self.waiting.remove(at);
            self.late(waiting);
        }
        self.told_later.retain(|&told| told != call);
        self.recover();
        self.hand_over();
        if self.turned_away.contains(&call) {
            self.turned_away.retain(|&told| told != call);
            // To say when it would be worth while to come again.
            self.looks();
        }
    }

    /// A permit after waiting; the breaker may have opened meanwhile.
    fn claim(&mut self, waiting: Waiting) {
        // The mode may have changed since it came.
        if self.mode == Mode::Off || self.boards(waiting.call, waiting.longest) {
            return self.run(waiting.call);
        }
        if self.mode == Mode::Observe {
            self.would_reject += 1;
            return self.run(waiting.call);
        }
        self.counts.breaker_open += 1;
        self.recover();
        self.hand_over();
    }

    fn watch_again(&mut self, call: u64) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.call == call) {
            let granted = self.granted.iter().map(|granted| granted.until).min();
            let next = if at > 0 {
                Some(self.waiting[at - 1].until)
            } else {
                granted
            };
            let (now, until) = (self.now, self.waiting[at].until);
            self.waiting[at].watch = next.filter(|&next| now < next && next < until);
        }
    }

    /// A call leaves: its body ended, or its caller did.
    fn leave(&mut self, call: u64) {
        if let Some(at) = self.running.iter().position(|&running| running == call) {
            // Overdue grants are taken back before the release, and so are served before it.
            self.recover();
            self.running.remove(at);
            self.uncounted += u64::from(self.mode == Mode::Off);
            return self.hand_over();
        }
        let before = self.waiting.len() + self.granted.len();
        self.waiting.retain(|waiting| waiting.call != call);
        self.granted.retain(|waiting| waiting.call != call);
        self.counts.abandoned += (before - self.waiting.len() - self.granted.len()) as u64;
        self.told_later.retain(|&told| told != call);
        self.recover();
        self.hand_over();
    }

    fn resize(&mut self, max: usize) {
        self.max = max;
        self.hand_over();
    }

    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.hand_over();
    }

    /// Those that wait keep their places, and the time that they have; tells whether it is legal.
    fn configure(&mut self, queue: Option<u32>, wait: Option<u64>) -> bool {
        let queue = queue.map_or(self.queue, |queue| queue as usize);
        let kept = if queue == 0 { 0 } else { self.wait };
        let wait = wait.unwrap_or(kept);
        let is_legal = (queue == 0) == (wait == 0);
        if is_legal {
            (self.queue, self.wait) = (queue, wait);
            self.hand_over();
        }
        is_legal
    }

    fn take_highest(&mut self) -> Highest {
        let now = Highest {
            in_use: self.in_use(),
            waiting: self.waiting.len(),
        };
        std::mem::replace(&mut self.highest, now)
    }

    fn close(&mut self) {
        self.closed = true;
        self.drains = false;
        self.turn_all_away();
    }

    fn drain(&mut self) {
        self.drains |= !self.closed;
        self.closed = true;
        self.turn_all_away();
    }

    /// Nobody that waits is inside.
    fn turn_all_away(&mut self) {
        self.counts.closed += self.waiting.len() as u64;
        self.told_later
            .extend(self.waiting.drain(..).map(|waiting| waiting.call));
    }
}

/// Runs it in a call of another partition.
fn inside<T>(run: impl FnOnce() -> T) -> T {
    let around = register("model-around", Policy::new(1_000)).expect("the same for all");
    let Poll::Ready(Ok(ran)) = poll_once(pin!(around.call(async { run() }))) else {
        panic!("there is room, and it ends in its first poll")
    };
    ran
}

/// A body that ends when it is told to.
#[derive(Default)]
struct Body {
    told: Option<End>,
    started: bool,
}

fn in_ms(millis: impl std::borrow::Borrow<u64>) -> Instant {
    Instant::now() + ms(*millis.borrow())
}

#[derive(Debug, Clone, Copy)]
enum End {
    Return(Verdict),
    Panic,
}

type Running = Pin<Box<dyn Future<Output = Result<Verdict, BulkheadError>>>>;

struct Caller {
    number: u64,
    future: Running,
    body: Rc<RefCell<Body>>,
    by_hand: bool,
}

impl Caller {
    fn calling(partition: &'static Partition, number: u64, deadline: Option<Instant>) -> Self {
        let (body, running) = body();
        let future = partition
            .call(running)
            .timeout(TIMEOUT)
            .classify(|verdict| *verdict);
        Self {
            number,
            future: under(deadline, future),
            body,
            by_hand: false,
        }
    }

    fn entering(
        partition: &'static Partition,
        number: u64,
        until: Instant,
        deadline: Option<Instant>,
    ) -> Self {
        let (body, running) = body();
        let future = async move {
            let permit = partition.enter_by(until).await?;
            let verdict = running.await;
            permit.finish(verdict);
            Ok(verdict)
        };
        Self {
            number,
            future: under(deadline, future),
            body,
            by_hand: true,
        }
    }

    fn started(&self) -> bool {
        self.body.borrow().started
    }
}

fn under(
    deadline: Option<Instant>,
    future: impl Future<Output = Result<Verdict, BulkheadError>> + 'static,
) -> Running {
    match deadline {
        Some(deadline) => Box::pin(Deadline::at(deadline).scope(future)),
        None => Box::pin(future),
    }
}

fn body() -> (Rc<RefCell<Body>>, impl Future<Output = Verdict>) {
    let body = Rc::new(RefCell::new(Body::default()));
    let inside = Rc::clone(&body);
    let running = poll_fn(move |_| {
        let mut body = inside.borrow_mut();
        body.started = true;
        match body.told {
            Some(End::Return(verdict)) => Poll::Ready(verdict),
            Some(End::Panic) => {
                drop(body);
                panic!("{ON_PURPOSE}")
            }
            None => Poll::Pending,
        }
    });
    (body, running)
}

/// What callers and bodies saw.
#[derive(Debug, Default)]
struct Seen {
    rejections: Rejections,
    bodies: u64,
    ends: Ends,
    /// Bodies that ended while nobody was to count them.
    uncounted: u64,
}

#[derive(Debug, Default, PartialEq, Clone, Copy)]
struct Ends {
    success: u64,
    failure: u64,
    ignored: u64,
    panicked: u64,
    timed_out: u64,
    cancelled: u64,
}

impl Seen {
    fn end(&mut self, mode: Mode, which: impl FnOnce(&mut Ends) -> &mut u64) {
        *if mode == Mode::Off {
            &mut self.uncounted
        } else {
            which(&mut self.ends)
        } += 1;
    }

    fn verdict(&mut self, mode: Mode, verdict: Verdict) {
        self.end(mode, |ends| match verdict {
            Verdict::Success => &mut ends.success,
            Verdict::Failure => &mut ends.failure,
            Verdict::Ignored => &mut ends.ignored,
        });
    }

    fn error(&mut self, mode: Mode, error: &BulkheadError) {
        *match error {
            BulkheadError::Full(_) => &mut self.rejections.full,
            BulkheadError::WaitTimeout(_) => &mut self.rejections.wait_timeout,
            BulkheadError::DeadlineExceeded(_) if error.body_ran() => {
                return self.end(mode, |ends| &mut ends.timed_out);
            }
            BulkheadError::DeadlineExceeded(_) => &mut self.rejections.deadline,
            BulkheadError::BreakerOpen(_) => &mut self.rejections.breaker_open,
            BulkheadError::Closed(_) => &mut self.rejections.closed,
            BulkheadError::CallTimeout(_) => return self.end(mode, |ends| &mut ends.timed_out),
            other => panic!("{other}"),
        } += 1;
    }
}

struct History {
    partition: &'static Partition,
    model: Model,
    seen: Seen,
    callers: Vec<Caller>,
    permits: Vec<(u64, bulkhead_runtime::Permit<'static>)>,
    /// How many turns somebody was told of.
    turns: Arc<AtomicU64>,
    /// As they were a step before.
    in_use: u64,
    waiting: u64,
}

impl History {
    async fn run(
        partition: &'static Partition,
        listens: Listens,
        numbers: Option<Numbers>,
        steps: Vec<Step>,
    ) {
        let policy = partition.policy();
        let model = Model {
            max: policy.max() as usize,
            queue: policy.queue() as usize,
            wait: u64::try_from(policy.wait().as_millis()).expect("a few"),
            listens,
            now: 1_000,
            mean: if numbers.is_some() { MEAN } else { 0 },
            breaker: numbers.map(Breaker::new),
            ..Model::default()
        };
        let turns = Arc::new(AtomicU64::new(0));
        let subscription = match listens {
            Listens::Nobody => None,
            Listens::ToSaturation => Some(Wants::USUAL),
            Listens::ToAdmissions => Some(Wants::USUAL.with_admissions()),
        }
        .map(|wants| {
            let (name, turns) = (partition.name(), Arc::clone(&turns));
            subscribe(Listener { name, wants, turns })
        });
        let mut history = Self {
            partition,
            model,
            seen: Seen::default(),
            callers: Vec::new(),
            permits: Vec::new(),
            turns,
            in_use: 0,
            waiting: 0,
        };
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Pass(millis) => history.pass(millis).await,
                Step::Pause => history.pass(PAUSE).await,
                _ => {}
            }
            while history.is_breaker(Breaker::is_in_doubt) {
                history.pass(1).await;
            }
            history.take(number, &step);
            history.compare();
        }
        let Self {
            callers,
            permits,
            turns,
            ..
        } = history;
        drop((callers, permits));
        partition.reopen();
        partition.mode(Mode::Enforce);
        if let Some(breaker) = partition.breaker() {
            breaker.disable();
        }
        assert_idle(partition);
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns.is_multiple_of(2), "what began has ended");
        if let Some(subscription) = subscription {
            subscription.unsubscribe();
        }
    }

    fn take(&mut self, number: u64, step: &Step) {
        let (partition, mode) = (self.partition, self.model.mode);
        match step {
            Step::Call(_) | Step::EnterBy(..) | Step::TryEnter | Step::TryEnterInside => {
                self.come(number, step);
            }
            Step::Poll(pick) if !self.callers.is_empty() => {
                let at = pick.index(self.callers.len());
                if !self.callers[at].started() {
                    self.model.look(self.callers[at].number);
                }
                self.poll(at);
            }
            Step::Drop(pick) if !self.callers.is_empty() => {
                let caller = self.callers.remove(pick.index(self.callers.len()));
                self.drop_caller(caller);
            }
            Step::Finish(pick, end) if !self.callers.is_empty() => {
                let at = pick.index(self.callers.len());
                self.callers[at].body.borrow_mut().told = Some(*end);
                if let Some((number, permit)) = self.permits.pop() {
                    drop(permit);
                    self.seen.verdict(mode, Verdict::Success);
                    self.model.tells(number, Ended::Worked);
                    self.model.leave(number);
                }
            }
            Step::End(pick, end) if !self.callers.is_empty() => {
                let at = pick.index(self.callers.len());
                self.callers[at].body.borrow_mut().told = Some(*end);
                self.take(number, &Step::Poll(*pick));
            }
            Step::Hand(hand) => {
                self.model.hand(*hand);
                if let Some(breaker) = partition.breaker() {
                    match hand {
                        Hand::ForceOpen => breaker.force_open(),
                        Hand::Disable => breaker.disable(),
                        Hand::Reset => breaker.reset(),
                    }
                }
            }
            Step::Poll(_)
            | Step::Drop(_)
            | Step::Finish(..)
            | Step::End(..)
            | Step::Pass(_)
            | Step::Pause => {}
            _ => self.operate(step),
        }
    }

    /// A call comes.
    fn come(&mut self, number: u64, step: &Step) {
        let (partition, now) = (self.partition, self.model.now);
        match step {
            Step::Call(None) if self.may_or_may_not_look_closer() => {}
            Step::Call(deadline) => {
                let caller = Caller::calling(partition, number, deadline.map(in_ms));
                let longest = u64::try_from(TIMEOUT.as_millis()).expect("a few");
                self.enter(
                    caller,
                    Newcomer {
                        call: number,
                        until: None,
                        deadline: deadline.map(|millis| now + millis),
                        may_queue: true,
                        longest: Some(longest),
                        is_inside: false,
                    },
                );
            }
            Step::EnterBy(millis, deadline) => {
                let until = in_ms(*millis);
                let caller = Caller::entering(partition, number, until, deadline.map(in_ms));
                self.enter(
                    caller,
                    Newcomer {
                        call: number,
                        until: Some(now + millis),
                        deadline: deadline.map(|millis| now + millis),
                        may_queue: true,
                        longest: None,
                        is_inside: false,
                    },
                );
            }
            Step::TryEnter | Step::TryEnterInside => {
                let is_inside = matches!(step, Step::TryEnterInside);
                self.model.enter(Newcomer {
                    call: number,
                    until: None,
                    deadline: None,
                    may_queue: false,
                    longest: None,
                    is_inside,
                });
                let entered = if is_inside {
                    inside(|| partition.try_enter())
                } else {
                    partition.try_enter()
                };
                match entered {
                    Ok(permit) => {
                        self.seen.bodies += 1;
                        self.permits.push((number, permit));
                    }
                    Err(error) => self.error(&error),
                }
            }
            _ => unreachable!("no call"),
        }
    }

    /// Somebody changes what holds, or looks.
    fn operate(&mut self, step: &Step) {
        let partition = self.partition;
        match step {
            Step::Resize(max) => {
                partition.resize(*max).expect("within the bounds");
                self.model.resize(*max as usize);
            }
            Step::Mode(mode) => {
                partition.mode(*mode);
                self.model.set_mode(*mode);
            }
            Step::Configure(queue, wait) if queue.or(wait.map(|_| 0)).is_some() => {
                let mut says = Override::new();
                if let Some(queue) = *queue {
                    says = says.queue(queue);
                }
                if let Some(wait) = *wait {
                    says = says.wait(ms(wait));
                }
                let configured = configure(Overrides::new().with(partition.name(), says));
                let is_legal = self.model.configure(*queue, *wait);
                assert_eq!(configured.is_ok(), is_legal, "{configured:?}");
            }
            Step::TakeSnapshot => {
                let taken = partition.take_snapshot();
                let highest = self.model.take_highest();
                assert_eq!(
                    (taken.highest_in_flight, taken.highest_waiting),
                    (highest.in_use as u64, highest.waiting as u64),
                    "{taken:?}"
                );
            }
            Step::Close => {
                partition.close();
                self.model.close();
            }
            Step::Drain => {
                drop(partition.drain(WAIT));
                self.model.drain();
            }
            Step::Reopen => {
                partition.reopen();
                self.model.closed = false;
                self.model.drains = false;
            }
            _ => {}
        }
    }

    async fn pass(&mut self, millis: u64) {
        advance(ms(millis)).await;
        self.model.now += millis;
    }

    /// A call that fits need not look who is out of time; under a breaker, and in a mode that rejects nobody, some do.
    fn may_or_may_not_look_closer(&self) -> bool {
        let model = &self.model;
        let is_usual = model.breaker.is_none() && model.mode == Mode::Enforce;
        let mut granted = model.granted.iter();
        !is_usual && model.is_let_in_at_once() && granted.any(|granted| granted.until <= model.now)
    }

    fn is_breaker(&self, so: fn(&Breaker, u64) -> bool) -> bool {
        let breaker = self.model.breaker.as_ref();
        breaker.is_some_and(|breaker| so(breaker, self.model.now))
    }

    /// A newcomer, and its first poll: the model decides first.
    fn enter(&mut self, caller: Caller, newcomer: Newcomer) {
        self.model.enter(newcomer);
        self.callers.push(caller);
        self.poll(self.callers.len() - 1);
    }

    fn poll(&mut self, at: usize) {
        let mode = self.model.mode;
        let caller = &mut self.callers[at];
        let had_started = caller.started();
        let polled = catch_unwind(AssertUnwindSafe(|| poll_once(caller.future.as_mut())));
        self.seen.bodies += u64::from(caller.started() && !had_started);
        let runs = self.model.running.contains(&caller.number);
        assert_eq!(
            caller.started(),
            runs,
            "a body runs exactly when the model says so"
        );
        match &polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(Ok(verdict))) => self.seen.verdict(mode, *verdict),
            Ok(Poll::Ready(Err(error))) => self.error(error),
            Err(_) => self.seen.end(mode, |ends| &mut ends.panicked),
        }
        let caller = self.callers.remove(at);
        if !caller.started() {
            return;
        }
        let ended = match polled {
            Ok(Poll::Ready(Ok(Verdict::Success))) => Ended::Worked,
            Ok(Poll::Ready(Ok(Verdict::Ignored))) => Ended::Nothing,
            Ok(Poll::Ready(Err(BulkheadError::DeadlineExceeded(_)))) => Ended::CutShort,
            _ => Ended::Failed,
        };
        self.model.tells(caller.number, ended);
        self.model.leave(caller.number);
    }

    fn error(&mut self, error: &BulkheadError) {
        if let BulkheadError::Full(_) = error {
            let permits = format!(" of {} permits in flight", self.model.max);
            assert!(error.to_string().contains(&permits), "{error}");
        }
        if let BulkheadError::BreakerOpen(_) = error {
            let breaker = self.model.breaker.as_ref().expect("it has one");
            let left = error.retry_after();
            match breaker.retry_after(self.model.now) {
                None => assert_eq!(left, None, "only a hand can close it"),
                Some((least, most)) => assert!(
                    left.is_some_and(|left| ms(least) <= left && left <= ms(most)),
                    "{left:?} is not from {least} to {most} ms"
                ),
            }
        }
        self.seen.error(self.model.mode, error);
    }

    fn drop_caller(&mut self, caller: Caller) {
        let Caller {
            number,
            body,
            by_hand,
            future,
        } = caller;
        drop(future);
        let started = body.borrow().started;
        let mode = self.model.mode;
        if started && by_hand {
            self.seen.verdict(mode, Verdict::Success);
        } else if started {
            self.seen.end(mode, |ends| &mut ends.cancelled);
        } else if !self.model.told_later.contains(&number) {
            self.seen.rejections.abandoned += 1;
        }
        if started {
            let ended = if by_hand {
                Ended::Worked
            } else {
                Ended::CutShort
            };
            self.model.tells(number, ended);
        }
        self.model.leave(number);
    }

    fn compare(&mut self) {
        let (s, model, seen) = (self.partition.snapshot(), &self.model, &self.seen);
        let context = || format!("{s:?}\n{model:?}\n{seen:?}");
        // Against the model.
        assert_eq!(
            s.in_flight,
            model.running.len() as u64,
            "in flight\n{}",
            context()
        );
        assert_eq!(
            s.waiting,
            model.waiting.len() as u64,
            "waiting\n{}",
            context()
        );
        assert_eq!(
            s.granted,
            model.granted.len() as u64,
            "granted\n{}",
            context()
        );
        let numbers = (s.max, s.queue, s.wait, s.mode, s.is_closed);
        let expected = (model.max as u64, model.queue as u64, ms(model.wait));
        assert_eq!(
            numbers,
            (expected.0, expected.1, expected.2, model.mode, model.closed),
            "{}",
            context()
        );
        assert_eq!(s.is_draining, model.drains, "{}", context());
        assert_eq!(
            (s.admitted, s.would_reject, s.would_wait),
            (
                model.admitted - model.uncounted,
                model.would_reject,
                model.would_wait
            ),
            "{}",
            context()
        );
        assert_eq!(
            (s.highest_in_flight, s.highest_waiting),
            (model.highest.in_use as u64, model.highest.waiting as u64),
            "{}",
            context()
        );
        let counted = Rejections {
            full: s.rejected.full,
            wait_timeout: s.rejected.wait_timeout,
            deadline: s.rejected.deadline,
            closed: s.rejected.closed,
            abandoned: s.abandoned,
            breaker_open: s.rejected.breaker_open,
        };
        assert_eq!(counted, model.counts, "{}", context());
        // Against what callers and bodies saw. Who lost its place learns of it when it looks, or never.
        assert_eq!(
            s.admitted,
            seen.bodies - seen.uncounted,
            "bodies that started, but for those that ended unseen\n{}",
            context()
        );
        assert_eq!(
            (counted.full, counted.abandoned),
            (seen.rejections.full, seen.rejections.abandoned),
            "{}",
            context()
        );
        for (counted, seen) in [
            (counted.wait_timeout, seen.rejections.wait_timeout),
            (counted.deadline, seen.rejections.deadline),
            (counted.closed, seen.rejections.closed),
            (counted.breaker_open, seen.rejections.breaker_open),
        ] {
            assert!(counted >= seen, "{}", context());
        }
        let ends = Ends {
            success: s.outcomes.success,
            failure: s.outcomes.failure,
            ignored: s.outcomes.ignored,
            panicked: s.outcomes.panicked,
            timed_out: s.outcomes.timed_out,
            cancelled: s.outcomes.cancelled,
        };
        assert_eq!(ends, seen.ends, "{}", context());
        if let (Some(breaker), Some(expected)) = (self.partition.breaker(), &model.breaker) {
            let told = breaker.snapshot();
            assert_eq!(
                (told.state, (told.calls, told.failures, told.slow)),
                (expected.public_state(), expected.totals(model.now)),
                "{}",
                context()
            );
        }
        // The turns themselves are not the model's: within a step it may be relieved and saturated again.
        let told = self.turns.load(Ordering::Relaxed);
        assert_ne!(told, OUT_OF_ORDER, "one episode after the other");
        assert_eq!(told % 2 == 1, model.is_saturated(), "{}", context());
        self.hold_laws(&s);
    }

    /// The laws, with the other side from outside.
    fn hold_laws(&mut self, s: &Snapshot) {
        let context = || format!("{s:?}\n{:?}\n{:?}", self.model, self.seen);
        let inside = self
            .callers
            .iter()
            .filter(|caller| caller.started())
            .count()
            + self.permits.len();
        let outside = self.callers.len() + self.permits.len() - inside;
        assert_eq!(s.in_flight, inside as u64, "{}", context());
        assert_eq!(
            s.waiting + s.granted,
            (outside - self.model.told_later.len()) as u64,
            "{}",
            context()
        );
        let in_use = s.in_flight + s.granted;
        assert!(
            s.mode != Mode::Enforce || in_use <= s.max || in_use <= self.in_use,
            "after a shrink they only fall\n{}",
            context()
        );
        assert_eq!(s.headroom, s.max.saturating_sub(in_use), "{}", context());
        assert!(
            s.waiting <= s.queue || s.waiting <= self.waiting,
            "after a shrink of the queue they only fall\n{}",
            context()
        );
        assert!(
            s.waiting == 0 || s.mode == Mode::Enforce && s.headroom == 0,
            "somebody waits although there is room\n{}",
            context()
        );
        (self.in_use, self.waiting) = (in_use, s.waiting);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_agrees_with_the_model(
        max in 1..4_u32,
        queue in 0..4_u32,
        numbers in prop::option::weighted(0.34, numbers()),
        listens in prop_oneof![Just(Listens::Nobody), Just(Listens::ToSaturation), Just(Listens::ToAdmissions)],
        steps in prop::collection::vec(step(), 1..200),
    ) {
        static HISTORY: AtomicU64 = AtomicU64::new(0);
        panics_on_purpose_are_silent();
        let name = format!("history-{}", HISTORY.fetch_add(1, Ordering::Relaxed));
        let policy = if queue == 0 { Policy::new(max) } else { Policy::new(max).with_queue(queue, WAIT) };
        let policy = match numbers {
            None => policy,
            Some(numbers) => policy.with_measured(Measured::new(1, ms(MEAN))).with_breaker(numbers.policy()),
        };
        let partition = register(&name, policy).expect("a name of its own");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(History::run(partition, listens, numbers, steps));
    }
}
