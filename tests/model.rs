//! Random histories against a reference model, and against counts kept by callers and bodies.

mod common;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, Partition, Policy, Verdict, register};
use common::{ON_PURPOSE, assert_bounds, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::time::{Instant, advance};

const WAIT: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_millis(25);

/// What a test does next; an index picks among the calls that there are.
#[derive(Debug, Clone)]
enum Step {
    /// A new call, polled once; kept apart from those that were never polled.
    Start,
    TryEnter,
    Poll(Index),
    Drop(Index),
    /// Lets a body end, with this verdict, or panic.
    Finish(Index, Option<Verdict>),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let verdict = prop_oneof![
        Just(None),
        Just(Some(Verdict::Success)),
        Just(Some(Verdict::Failure)),
        Just(Some(Verdict::Ignored))
    ];
    prop_oneof![
        6 => Just(Step::Start),
        1 => Just(Step::TryEnter),
        6 => any::<Index>().prop_map(Step::Poll),
        4 => any::<Index>().prop_map(Step::Drop),
        4 => (any::<Index>(), verdict).prop_map(|(call, verdict)| Step::Finish(call, verdict)),
        3 => (1..14_u64).prop_map(Step::Pass),
    ]
}

/// The reference: what a partition is, in plain code that knows no concurrency. Times are in
/// milliseconds.
#[derive(Debug, Default)]
struct Model {
    max: usize,
    queue: usize,
    now: u64,
    running: Vec<(u64, u64)>,
    waiting: VecDeque<(u64, u64)>,
    granted: Vec<(u64, u64)>,
    revoked: Vec<u64>,
    full: u64,
    wait_timeout: u64,
    abandoned: u64,
    admitted: u64,
}

impl Model {
    fn room(&self) -> bool {
        self.running.len() + self.granted.len() < self.max
    }

    /// Whoever comes takes back what is overdue, until nothing is; whoever waits gets what is free.
    fn settle(&mut self) {
        let now = self.now;
        loop {
            let overdue: Vec<_> = self
                .granted
                .extract_if(.., |&mut (_, until)| until <= now)
                .collect();
            self.wait_timeout += overdue.len() as u64;
            self.hand_over();
            if overdue.is_empty() {
                break;
            }
            self.revoked
                .extend(overdue.into_iter().map(|(call, _)| call));
        }
    }

    fn hand_over(&mut self) {
        while self.room()
            && let Some(head) = self.waiting.pop_front()
        {
            self.granted.push(head);
        }
    }

    fn run(&mut self, call: u64) {
        self.admitted += 1;
        self.running
            .push((call, self.now + TIMEOUT.as_millis() as u64));
    }

    fn enter(&mut self, call: u64, may_wait: bool) {
        if self.room() && self.waiting.is_empty() {
            return self.run(call);
        }
        self.settle();
        if self.room() && self.waiting.is_empty() {
            self.run(call);
        } else if may_wait && self.waiting.len() < self.queue {
            self.waiting
                .push_back((call, self.now + WAIT.as_millis() as u64));
        } else {
            self.full += 1;
        }
    }

    /// A poll of a call that waits: it runs, is rejected as late, or waits on.
    fn look(&mut self, call: u64) {
        if let Some(at) = self.revoked.iter().position(|&revoked| revoked == call) {
            self.revoked.remove(at);
            self.settle();
        } else if let Some(at) = self
            .granted
            .iter()
            .position(|&(granted, _)| granted == call)
        {
            let (_, until) = self.granted.remove(at);
            if self.now < until {
                return self.run(call);
            }
            self.wait_timeout += 1;
            self.settle();
        } else if let Some(at) = self
            .waiting
            .iter()
            .position(|&(waiting, until)| waiting == call && until <= self.now)
        {
            self.waiting.remove(at);
            self.wait_timeout += 1;
            self.settle();
        }
    }

    fn leave(&mut self, call: u64) {
        let ran = self
            .running
            .iter()
            .position(|&(running, _)| running == call);
        if let Some(at) = ran {
            // Overdue grants are taken back before the release, and so are served before it.
            self.settle();
            self.running.remove(at);
            return self.hand_over();
        }
        let before = self.waiting.len() + self.granted.len();
        self.waiting.retain(|&(waiting, _)| waiting != call);
        self.granted.retain(|&(granted, _)| granted != call);
        self.revoked.retain(|&revoked| revoked != call);
        self.abandoned += (before - self.waiting.len() - self.granted.len()) as u64;
        self.settle();
    }
}

/// A body that ends when it is told to, and counts itself.
#[derive(Default)]
struct Body {
    told: Option<Option<Verdict>>,
    started: bool,
}

type Running = Pin<Box<dyn Future<Output = Result<Verdict, BulkheadError>>>>;

/// Counts kept by the callers.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    full: u64,
    wait_timeout: u64,
    bodies: u64,
    success: u64,
    failure: u64,
    ignored: u64,
    panicked: u64,
    timed_out: u64,
    cancelled: u64,
    abandoned: u64,
}

struct Caller {
    number: u64,
    future: Running,
    body: Rc<RefCell<Body>>,
}

fn start(partition: &'static Partition, number: u64) -> Caller {
    let body = Rc::new(RefCell::new(Body::default()));
    let inside = Rc::clone(&body);
    let future = partition
        .call(poll_fn(move |_| {
            let mut body = inside.borrow_mut();
            body.started = true;
            match body.told {
                Some(Some(verdict)) => Poll::Ready(verdict),
                Some(None) => panic!("{ON_PURPOSE}"),
                None => Poll::Pending,
            }
        }))
        .timeout(TIMEOUT)
        .classify(|verdict| *verdict);
    Caller {
        number,
        future: Box::pin(future),
        body,
    }
}

/// Polls a call; tells whether it is over.
fn poll(caller: &mut Caller, model: &mut Model, seen: &mut Seen) -> bool {
    let had_started = caller.body.borrow().started;
    if !had_started {
        model.look(caller.number);
    }
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        poll_once(caller.future.as_mut())
    }));
    seen.bodies += u64::from(caller.body.borrow().started && !had_started);
    let Ok(polled) = polled else {
        seen.panicked += 1;
        model.leave(caller.number);
        return true;
    };
    let Poll::Ready(result) = polled else {
        return false;
    };
    match result {
        Ok(verdict) => {
            match verdict {
                Verdict::Success => seen.success += 1,
                Verdict::Failure => seen.failure += 1,
                Verdict::Ignored => seen.ignored += 1,
            }
            model.leave(caller.number);
        }
        Err(BulkheadError::Full(_)) => seen.full += 1,
        Err(BulkheadError::WaitTimeout(_)) => seen.wait_timeout += 1,
        Err(BulkheadError::CallTimeout(_)) => {
            seen.timed_out += 1;
            let ends = model
                .running
                .iter()
                .find(|&&(call, _)| call == caller.number)
                .map(|&(_, ends)| ends);
            assert!(
                ends.is_some_and(|ends| ends <= model.now),
                "timed out before its time"
            );
            model.leave(caller.number);
        }
        Err(other) => panic!("{other}"),
    }
    true
}

async fn run(partition: &'static Partition, steps: Vec<Step>) {
    let policy = partition.policy();
    let mut model = Model {
        max: policy.max() as usize,
        queue: policy.queue() as usize,
        ..Model::default()
    };
    let (mut callers, mut seen): (Vec<Caller>, Seen) = (Vec::new(), Seen::default());
    let (mut by_hand, begin) = (Vec::new(), Instant::now());
    for (number, step) in (0..).zip(steps) {
        match step {
            Step::Start => {
                let mut caller = start(partition, number);
                model.enter(number, true);
                if !poll_entered(&mut caller, &mut model, &mut seen) {
                    callers.push(caller);
                }
            }
            Step::TryEnter => {
                model.enter(number, false);
                match partition.try_enter() {
                    Ok(permit) => {
                        seen.bodies += 1;
                        by_hand.push((number, permit));
                    }
                    Err(_) => seen.full += 1,
                }
            }
            Step::Poll(pick) if !callers.is_empty() => {
                let at = pick.index(callers.len());
                if poll(&mut callers[at], &mut model, &mut seen) {
                    callers.remove(at);
                }
            }
            Step::Drop(pick) if !callers.is_empty() => {
                let caller = callers.remove(pick.index(callers.len()));
                let (number, started) = (caller.number, caller.body.borrow().started);
                let was_revoked = model.revoked.contains(&number);
                drop(caller);
                seen.cancelled += u64::from(started);
                seen.abandoned += u64::from(!started && !was_revoked);
                seen.wait_timeout += u64::from(!started && was_revoked);
                model.leave(number);
            }
            Step::Finish(pick, verdict) if !callers.is_empty() => {
                let at = pick.index(callers.len());
                callers[at].body.borrow_mut().told = Some(verdict);
                if let Some((number, permit)) = by_hand.pop() {
                    permit.finish(Verdict::Success);
                    seen.success += 1;
                    model.leave(number);
                }
            }
            Step::Pass(millis) => {
                advance(ms(millis)).await;
                model.now = begin.elapsed().as_millis() as u64;
            }
            Step::Poll(_) | Step::Drop(_) | Step::Finish(..) => {}
        }
        compare(partition, &model, &seen, &callers);
    }
    let left: Vec<_> = by_hand.into_iter().map(|(_, permit)| permit).collect();
    drop((left, callers));
    assert_idle(partition);
}

/// The first poll: the model has already decided.
fn poll_entered(caller: &mut Caller, model: &mut Model, seen: &mut Seen) -> bool {
    let polled = poll_once(caller.future.as_mut());
    let started = caller.body.borrow().started;
    seen.bodies += u64::from(started);
    let runs = model.running.iter().any(|&(call, _)| call == caller.number);
    assert_eq!(started, runs, "a body runs exactly when the model says so");
    match polled {
        Poll::Pending => false,
        Poll::Ready(Err(BulkheadError::Full(_))) => {
            seen.full += 1;
            true
        }
        Poll::Ready(other) => panic!("{other:?}"),
    }
}

fn compare(partition: &Partition, model: &Model, seen: &Seen, callers: &[Caller]) {
    let s = partition.snapshot();
    assert_bounds(&s);
    // Against the model.
    assert_eq!(
        s.in_flight,
        model.running.len() as u64,
        "in flight\n{s:?}\n{model:?}"
    );
    assert_eq!(
        s.waiting,
        model.waiting.len() as u64,
        "waiting\n{s:?}\n{model:?}"
    );
    assert_eq!(
        s.granted,
        model.granted.len() as u64,
        "granted\n{s:?}\n{model:?}"
    );
    assert_eq!(s.rejected.full, model.full);
    assert_eq!(s.rejected.wait_timeout, model.wait_timeout);
    assert_eq!(s.abandoned, model.abandoned);
    assert_eq!(s.admitted, model.admitted);
    assert!(
        s.waiting == 0 || s.headroom == 0,
        "somebody waits although there is room: {s:?}"
    );
    // Against what callers and bodies saw. A caller that lost its grant learns of it when it looks.
    assert_eq!(s.admitted, seen.bodies, "bodies that started");
    assert_eq!(s.rejected.full, seen.full);
    assert_eq!(
        s.rejected.wait_timeout,
        seen.wait_timeout + model.revoked.len() as u64
    );
    assert_eq!(s.abandoned, seen.abandoned);
    let outcomes = s.outcomes;
    assert_eq!(
        (outcomes.success, outcomes.failure, outcomes.ignored),
        (seen.success, seen.failure, seen.ignored)
    );
    assert_eq!(
        (outcomes.panicked, outcomes.timed_out, outcomes.cancelled),
        (seen.panicked, seen.timed_out, seen.cancelled)
    );
    // The laws, with both sides from outside.
    let waiting = callers
        .iter()
        .filter(|caller| !caller.body.borrow().started)
        .count() as u64;
    assert_eq!(s.waiting + s.granted + model.revoked.len() as u64, waiting);
    assert_eq!(
        s.started,
        seen.bodies + seen.full + seen.wait_timeout + seen.abandoned + waiting
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_history_agrees_with_the_model(
        max in 1..4_u32,
        queue in 0..4_u32,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        static HISTORY: AtomicU64 = AtomicU64::new(0);
        let name = format!("history-{}", HISTORY.fetch_add(1, Ordering::Relaxed));
        let policy = if queue == 0 { Policy::new(max) } else { Policy::new(max).with_queue(queue, WAIT) };
        let partition = register(&name, policy).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        panics_on_purpose_are_silent();
        runtime.block_on(run(partition, steps));
    }
}
