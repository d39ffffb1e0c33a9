//! Breakers of functions beside those of partitions: whose calls they see, whose they stop, and which there are.

mod common;

use std::cell::RefCell;
use std::future::{Future, pending, ready};
use std::pin::Pin;

use bulkhead_runtime::{
    Breaker, BreakerState, Deadline, Mode, Partition, Reason, bulkhead, partition,
};
use common::watched::{Failed, find, of, window};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};
use tokio::time::{advance, sleep};

type Ends = Result<(), Failed>;

const WORKS: fn() -> std::future::Ready<Ends> = || ready(Ok(()));
const FAILS: fn() -> std::future::Ready<Ends> = || ready(Err(Failed::Theirs));

/// Every call is counted once, and so is the end of every body.
#[track_caller]
fn assert_laws(partition: &Partition) {
    let s = partition.snapshot();
    let came = s.waiting + s.granted + s.admitted + s.rejected.total() + s.abandoned;
    assert_eq!(s.started, came, "{s:?}");
    assert_eq!(s.admitted, s.in_flight + s.outcomes.total(), "{s:?}");
}

type Boxed<'f> = Pin<Box<dyn Future<Output = Ends> + 'f>>;

/// Polled once, and waits or runs.
fn begun<'f>(call: impl Future<Output = Ends> + 'f) -> Boxed<'f> {
    let mut call: Boxed<'f> = Box::pin(call);
    assert!(poll_once(call.as_mut()).is_pending(), "it waits, or runs");
    call
}

#[bulkhead(
    name = "breakers-own", max = 4, queue = 4, wait = 50ms, deadline = 100ms, margin = 10ms,
    breaker(min_calls = 100, slow = 60ms),
)]
async fn bounded(body: impl Future<Output = Ends>) -> Ends {
    body.await
}

#[tokio::test(start_paused = true)]
async fn its_own_deadline_is_a_failure_and_that_of_its_caller_is_not() {
    let breaker = of(find("breakers-own"), "::bounded");
    let error = bounded(pending()).await.expect_err("it hangs");
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert_eq!(window(breaker), (1, 1, 1), "it was slow, too");

    for (inherited, expected) in [
        (69, (1, 1, 1)),
        (70, (2, 1, 2)),
        (99, (3, 1, 3)),
        // The same instant, and later ones.
        (100, (4, 2, 4)),
        (101, (5, 3, 5)),
    ] {
        let error = Deadline::after(ms(inherited))
            .scope(bounded(pending()))
            .await;
        assert_eq!(
            error.expect_err("it hangs").reason(),
            Reason::DeadlineExceeded
        );
        assert_eq!(window(breaker), expected, "{inherited}");
    }
    // That it was not begun in time says nothing.
    let late = Deadline::after(ms(10)).scope(bounded(WORKS())).await;
    assert_eq!(
        late.expect_err("the margin is all it has").reason(),
        Reason::DeadlineExceeded
    );
    assert_eq!(window(breaker), (5, 3, 5));
    assert_idle(find("breakers-own"));
}

#[bulkhead(name = "breakers-inside", max = 4)]
async fn hangs_inside() -> Ends {
    pending().await
}

#[bulkhead(name = "breakers-around", max = 1, queue = 4, wait = 50ms, deadline = 100ms, breaker(min_calls = 100))]
async fn around(inside: impl Future<Output = Ends>) -> Ends {
    inside.await
}

#[tokio::test(start_paused = true)]
async fn a_hang_in_a_call_inside_is_a_failure_once_the_own_deadline_has_passed() {
    let breaker = of(find("breakers-around"), "::around");
    around(hangs_inside()).await.expect_err("it hangs");
    assert_eq!(window(breaker), (1, 1, 0));
    let cut = Deadline::after(ms(40)).scope(around(hangs_inside())).await;
    assert_eq!(
        cut.expect_err("it hangs").reason(),
        Reason::DeadlineExceeded
    );
    assert_eq!(
        window(breaker),
        (1, 1, 0),
        "the caller's deadline says nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn each_of_two_breakers_sees_its_own_calls_and_stops_its_own() {
    #[partition(name = "breakers-both", max = 4, breaker(consecutive = 3))]
    static BOTH: Partition;
    #[bulkhead(BOTH, timeout = 1s, breaker(consecutive = 2))]
    async fn orders(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    #[bulkhead(BOTH, timeout = 1s)]
    async fn invoices(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    let (operation, whole) = (of(&BOTH, "::orders"), BOTH.breaker().expect("it has one"));
    let breakers: Vec<_> = BOTH.breakers().map(Breaker::function).collect();
    assert_eq!(
        breakers,
        [None, operation.function()],
        "and none of the other function"
    );

    orders(FAILS()).await.expect_err("it fails");
    invoices(WORKS()).await.expect("it works");
    assert_eq!((window(operation), window(whole)), ((1, 1, 0), (2, 1, 0)));
    orders(FAILS()).await.expect_err("it fails");
    assert_eq!(
        (operation.state(), whole.state()),
        (BreakerState::Open, BreakerState::Closed)
    );
    let Err(Failed::Ours(error)) = orders(WORKS()).await else {
        panic!("it is open")
    };
    assert_eq!(error.reason(), Reason::BreakerOpen);
    assert_eq!(error.function(), operation.function());
    let until = error.retry_after().expect("it says when");
    invoices(WORKS()).await.expect("the other one passes");
    assert_eq!(window(whole), (4, 2, 0), "of the rejection it saw nothing");

    for _ in 0..3 {
        invoices(FAILS()).await.expect_err("it fails");
    }
    assert_eq!(whole.state(), BreakerState::Open);
    for call in [orders(WORKS()).await, invoices(WORKS()).await] {
        assert_eq!(
            call.expect_err("all are open").reason(),
            Reason::BreakerOpen
        );
    }
    // Two probes each: the operation's are the partition's as well.
    advance(until * 2).await;
    for _ in 0..2 {
        orders(WORKS()).await.expect("a probe of both");
    }
    assert_eq!(
        (operation.state(), whole.state()),
        (BreakerState::Closed, BreakerState::Closed)
    );
    assert_laws(&BOTH);
    assert_idle(&BOTH);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_trips_turns_away_its_own_and_leaves_the_others_in_order() {
    #[partition(name = "breakers-queue", max = 1, queue = 8, wait = 500ms, breaker(consecutive = 3))]
    static QUEUE: Partition;
    #[bulkhead(QUEUE, timeout = 1s, breaker(consecutive = 1))]
    async fn trips(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    #[bulkhead(QUEUE, timeout = 1s, breaker(consecutive = 1))]
    async fn stays(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    #[bulkhead(QUEUE, timeout = 1s)]
    async fn plain(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    let ran = RefCell::new(Vec::new());
    let notes = |number: u32| {
        let ran = &ran;
        async move {
            ran.borrow_mut().push(number);
            Ok(())
        }
    };
    let fails = begun(trips(async {
        sleep(ms(10)).await;
        Err(Failed::Theirs)
    }));
    let mut turned_away = vec![begun(trips(notes(1)))];
    let mut left = vec![begun(plain(notes(2)))];
    turned_away.push(begun(trips(notes(3))));
    left.push(begun(stays(notes(4))));
    let by_hand = tokio::spawn(QUEUE.enter());
    tokio::task::yield_now().await;
    turned_away.push(begun(trips(notes(6))));
    left.push(begun(plain(notes(7))));
    assert_eq!(QUEUE.snapshot().waiting, 7);

    fails.await.expect_err("it fails");
    let s = QUEUE.snapshot();
    assert_eq!(
        (s.rejected.breaker_open, s.waiting, s.granted),
        (3, 3, 1),
        "at once"
    );
    for call in turned_away {
        let error = call.await.expect_err("its place is gone");
        assert_eq!(error.reason(), Reason::BreakerOpen);
    }
    // From behind, so that only the queue can bring them into order.
    let last = left.pop().expect("three");
    let (last, others) = tokio::join!(last, async {
        let second = left.pop().expect("two");
        let first = left.pop().expect("one");
        let permit = async { drop(by_hand.await.expect("no panic").expect("its turn comes")) };
        let (second, (), first) = tokio::join!(second, permit, first);
        first.and(second)
    });
    last.and(others).expect("they were not its calls");
    assert_eq!(*ran.borrow(), [2, 4, 7]);
    assert_eq!(QUEUE.snapshot().rejected.breaker_open, 3, "each once");
    assert_laws(&QUEUE);
    assert_idle(&QUEUE);
}

#[tokio::test(start_paused = true)]
async fn the_partition_that_trips_turns_all_away() {
    #[partition(name = "breakers-flush", max = 1, queue = 8, wait = 500ms, breaker(consecutive = 1))]
    static FLUSH: Partition;
    #[bulkhead(FLUSH, timeout = 1s, breaker(consecutive = 9))]
    async fn one(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    #[bulkhead(FLUSH, timeout = 1s)]
    async fn other(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    let fails = begun(one(async {
        sleep(ms(10)).await;
        Err(Failed::Theirs)
    }));
    let waiting = [
        begun(one(WORKS())),
        begun(other(WORKS())),
        begun(one(WORKS())),
    ];
    fails.await.expect_err("it fails");
    let s = FLUSH.snapshot();
    assert_eq!(
        (s.rejected.breaker_open, s.waiting, s.granted, s.in_flight),
        (3, 0, 0, 0)
    );
    for call in waiting {
        assert_eq!(
            call.await.expect_err("all are").reason(),
            Reason::BreakerOpen
        );
    }
    assert_eq!(of(&FLUSH, "::one").state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_of_the_one_that_the_other_refuses_goes_back() {
    #[partition(name = "breakers-refused", max = 2, queue = 2, wait = 500ms, breaker(consecutive = 9))]
    static REFUSED: Partition;
    #[bulkhead(REFUSED, timeout = 1s, breaker(consecutive = 1, open_for = 10ms, probes = 1))]
    async fn probed(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    let (operation, whole) = (
        of(&REFUSED, "::probed"),
        REFUSED.breaker().expect("it has one"),
    );
    // One that has its grant, and claims it when the operation is half-open and the partition is not.
    let held = [
        REFUSED.try_enter().expect("free"),
        REFUSED.try_enter().expect("free"),
    ];
    let granted = begun(probed(WORKS()));
    drop(held);
    assert_eq!(REFUSED.snapshot().granted, 1);
    probed(FAILS()).await.expect_err("it fails");
    advance(ms(20)).await;
    whole.force_open();
    assert_eq!(
        granted.await.expect_err("it is open").reason(),
        Reason::BreakerOpen
    );
    assert_eq!(
        operation.state(),
        BreakerState::HalfOpen,
        "it had given its probe"
    );
    whole.reset();
    assert_laws(&REFUSED);
    assert_idle(&REFUSED);
    probed(WORKS()).await.expect("the probe is there");
    assert_eq!(operation.state(), BreakerState::Closed);

    // The same where nobody is rejected.
    probed(FAILS()).await.expect_err("it fails");
    advance(ms(20)).await;
    whole.force_open();
    REFUSED.mode(Mode::Observe);
    let hangs = begun(probed(pending()));
    assert_eq!(REFUSED.snapshot().would_reject, 1);
    REFUSED.mode(Mode::Enforce);
    whole.reset();
    probed(WORKS()).await.expect("the probe is there");
    assert_eq!(operation.state(), BreakerState::Closed);
    drop(hangs);
    assert_laws(&REFUSED);
    assert_idle(&REFUSED);
}

#[tokio::test(start_paused = true)]
async fn a_function_without_keys_is_watched_by_the_breaker_of_its_partition() {
    #[partition(name = "breakers-by-path", max = 2, breaker(consecutive = 2))]
    static BY_PATH: Partition;
    #[bulkhead(BY_PATH, timeout = 50ms)]
    async fn plain(body: impl Future<Output = Ends>) -> Ends {
        body.await
    }
    let breaker = BY_PATH.breaker().expect("it has one");
    panics_on_purpose_are_silent();
    let panics = tokio::spawn(plain(async { panic!("{}", ON_PURPOSE.to_owned()) }));
    panics.await.expect_err("it panics");
    plain(pending()).await.expect_err("it hangs");
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(
        plain(WORKS()).await.expect_err("it is open").reason(),
        Reason::BreakerOpen
    );
    assert_eq!(BY_PATH.snapshot().rejected.breaker_open, 1);
}
