//! Random histories against a reference model, and against counts kept by callers and bodies; two in three of
//! them while somebody listens.

mod common;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{
    BulkheadError, Event, Mode, Observer, Override, Overrides, Partition, Policy, Snapshot,
    Verdict, Wants, configure, register, subscribe,
};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::time::{Instant, advance};

const WAIT: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_millis(25);

/// What a test does next; an index picks among the calls that there are.
#[derive(Debug, Clone)]
enum Step {
    /// `call`, with a timeout, polled once.
    Call,
    /// `enter_by` in so many milliseconds, polled once; the permit is then held by hand.
    EnterBy(u64),
    TryEnter,
    Poll(Index),
    Drop(Index),
    /// Lets a body end at its next poll.
    Finish(Index, End),
    Resize(u32),
    Mode(Mode),
    /// `configure` of the queue, of the wait in milliseconds, or of both.
    Configure(Option<u32>, Option<u64>),
    TakeSnapshot,
    Close,
    Reopen,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let end = prop_oneof![
        Just(End::Panic),
        Just(End::Return(Verdict::Success)),
        Just(End::Return(Verdict::Failure)),
        Just(End::Return(Verdict::Ignored))
    ];
    // Half as often out of the usual mode as back into it.
    let mode = prop_oneof![
        4 => Just(Mode::Enforce),
        1 => Just(Mode::Observe),
        1 => Just(Mode::Off)
    ];
    let queue = prop::option::weighted(0.8, 0..5_u32);
    let wait = prop::option::weighted(0.8, 1..20_u64);
    prop_oneof![
        6 => Just(Step::Call),
        2 => (0..20_u64).prop_map(Step::EnterBy),
        1 => Just(Step::TryEnter),
        7 => any::<Index>().prop_map(Step::Poll),
        6 => any::<Index>().prop_map(Step::Drop),
        4 => (any::<Index>(), end).prop_map(|(call, end)| Step::Finish(call, end)),
        1 => (1..5_u32).prop_map(Step::Resize),
        3 => mode.prop_map(Step::Mode),
        1 => (queue, wait).prop_map(|(queue, wait)| Step::Configure(queue, wait)),
        1 => Just(Step::TakeSnapshot),
        1 => Just(Step::Close),
        2 => Just(Step::Reopen),
        3 => (1..14_u64).prop_map(Step::Pass),
    ]
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
}

/// Calls whose body never started.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
struct Rejections {
    full: u64,
    wait_timeout: u64,
    deadline: u64,
    closed: u64,
    abandoned: u64,
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

    fn enter(&mut self, call: u64, place: Option<Waiting>) {
        let is_spent = place.is_some_and(|place| place.is_deadline && place.until <= self.now);
        if self.mode != Mode::Enforce {
            return self.let_in(call, is_spent, place.is_some());
        }
        if is_spent {
            self.counts.deadline += 1;
            return;
        }
        let unusual = !self.is_let_in_at_once();
        let is_full =
            !self.has_room() && self.waiting.len() >= self.queue && self.granted.is_empty();
        let at_once = is_full && !self.closed && place.is_none_or(|place| !place.is_deadline);
        if unusual && !at_once {
            if place.is_some() {
                self.clear_overdue();
            } else {
                self.recover();
            }
            self.hand_over();
        }
        if self.closed {
            self.counts.closed += 1;
        } else if self.has_room() && self.waiting.is_empty() {
            self.run(call);
        } else if let Some(place) = place.filter(|_| self.waiting.len() < self.queue) {
            let before = self.waiting.last().or(self.granted.last());
            let watch = before.and_then(|before| {
                let ends_sooner = before.until < place.until;
                if ends_sooner {
                    Some(before.until)
                } else {
                    before.watch
                }
            });
            self.waiting.push(Waiting { watch, ..place });
            self.highest.waiting = self.highest.waiting.max(self.waiting.len());
            if watch.is_some_and(|watch| watch <= self.now) {
                self.watch_again(call);
            }
        } else {
            self.counts.full += 1;
        }
    }

    /// The same in a mode that rejects nobody.
    fn let_in(&mut self, call: u64, is_spent: bool, would_wait: bool) {
        if is_spent || !self.is_let_in_at_once() {
            if would_wait {
                self.clear_overdue();
            } else {
                self.recover();
            }
        }
        if self.closed {
            self.counts.closed += 1;
            return;
        }
        let places = if would_wait { self.queue } else { 0 };
        let has_place = self.in_use() < self.max + places;
        if self.mode == Mode::Observe && (is_spent || !has_place) {
            self.would_reject += 1;
        } else if self.mode == Mode::Observe && !self.has_room() {
            self.would_wait += 1;
        }
        self.run(call);
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
                return self.run(call);
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
        self.counts.closed += self.waiting.len() as u64;
        self.told_later
            .extend(self.waiting.drain(..).map(|waiting| waiting.call));
    }
}

/// A body that ends when it is told to.
#[derive(Default)]
struct Body {
    told: Option<End>,
    started: bool,
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
    fn calling(partition: &'static Partition, number: u64) -> Self {
        let (body, running) = body();
        let future = partition
            .call(running)
            .timeout(TIMEOUT)
            .classify(|verdict| *verdict);
        Self {
            number,
            future: Box::pin(future),
            body,
            by_hand: false,
        }
    }

    fn entering(partition: &'static Partition, number: u64, deadline: Instant) -> Self {
        let (body, running) = body();
        let future = async move {
            let permit = partition.enter_by(deadline).await?;
            let verdict = running.await;
            permit.finish(verdict);
            Ok(verdict)
        };
        Self {
            number,
            future: Box::pin(future),
            body,
            by_hand: true,
        }
    }

    fn started(&self) -> bool {
        self.body.borrow().started
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
            BulkheadError::DeadlineExceeded(_) => &mut self.rejections.deadline,
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
    async fn run(partition: &'static Partition, listens: Listens, steps: Vec<Step>) {
        let policy = partition.policy();
        let model = Model {
            max: policy.max() as usize,
            queue: policy.queue() as usize,
            wait: u64::try_from(policy.wait().as_millis()).expect("a few"),
            listens,
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
            if let Step::Pass(millis) = step {
                advance(ms(millis)).await;
                history.model.now += millis;
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
        assert_idle(partition);
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns.is_multiple_of(2), "what began has ended");
        if let Some(subscription) = subscription {
            subscription.unsubscribe();
        }
    }

    fn take(&mut self, number: u64, step: &Step) {
        let (partition, now, mode) = (self.partition, self.model.now, self.model.mode);
        match step {
            Step::Call => {
                let until = now + self.model.wait;
                self.enter(Caller::calling(partition, number), until, false);
            }
            Step::EnterBy(millis) => {
                let deadline = Instant::now() + ms(*millis);
                self.enter(
                    Caller::entering(partition, number, deadline),
                    now + millis,
                    true,
                );
            }
            Step::TryEnter => {
                self.model.enter(number, None);
                match partition.try_enter() {
                    Ok(permit) => {
                        self.seen.bodies += 1;
                        self.permits.push((number, permit));
                    }
                    Err(error) => self.error(&error),
                }
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
                    self.model.leave(number);
                }
            }
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
            Step::Reopen => {
                partition.reopen();
                self.model.closed = false;
            }
            Step::Poll(_)
            | Step::Drop(_)
            | Step::Finish(..)
            | Step::Configure(..)
            | Step::Pass(_) => {}
        }
    }

    /// A newcomer, and its first poll: the model decides first.
    fn enter(&mut self, caller: Caller, until: u64, is_deadline: bool) {
        let call = caller.number;
        self.model.enter(
            call,
            Some(Waiting {
                call,
                until,
                is_deadline,
                watch: None,
            }),
        );
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
        match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(Ok(verdict))) => self.seen.verdict(mode, verdict),
            Ok(Poll::Ready(Err(error))) => self.error(&error),
            Err(_) => self.seen.end(mode, |ends| &mut ends.panicked),
        }
        let caller = self.callers.remove(at);
        if caller.started() {
            self.model.leave(caller.number);
        }
    }

    fn error(&mut self, error: &BulkheadError) {
        if let BulkheadError::Full(_) = error {
            let permits = format!(" of {} permits in flight", self.model.max);
            assert!(error.to_string().contains(&permits), "{error}");
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
        listens in prop_oneof![Just(Listens::Nobody), Just(Listens::ToSaturation), Just(Listens::ToAdmissions)],
        steps in prop::collection::vec(step(), 1..200),
    ) {
        static HISTORY: AtomicU64 = AtomicU64::new(0);
        panics_on_purpose_are_silent();
        let name = format!("history-{}", HISTORY.fetch_add(1, Ordering::Relaxed));
        let policy = if queue == 0 { Policy::new(max) } else { Policy::new(max).with_queue(queue, WAIT) };
        let partition = register(&name, policy).expect("a name of its own");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(History::run(partition, listens, steps));
    }
}
