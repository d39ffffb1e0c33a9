//! The span around a body: what it says, when it is entered, and that it ends once.

#![expect(clippy::disallowed_types, reason = "a subscriber may lock as it likes")]

mod common;

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::task::Poll;

use allocation_counter::measure;
use bulkhead_runtime::{Breaker, BulkheadLayer, Deadline, Partition, bulkhead, partition};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, plain, poll_once, queued};
use tokio::task::yield_now;
use tokio::time::advance;
use tower::{BoxError, Layer, Service, service_fn};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, NoSubscriber, set_default, with_default};
use tracing::{Event, Level, Metadata, Subscriber};

// Partitions have two permits, and calls take one: the last of a partition is taken under its lock while anybody
// listens, on another way than the usual.

type Fields = BTreeMap<&'static str, String>;
type Answer = Result<(), BoxError>;
type Called = Pin<Box<dyn Future<Output = Answer>>>;

/// Writes down what becomes of the spans of calls, and in which of them a test tells something.
#[derive(Default, Clone)]
struct Recorder {
    book: Arc<Mutex<Book>>,
    /// Panics there.
    panics_at: Option<&'static str>,
}

#[derive(Default)]
struct Book {
    lines: Vec<String>,
    /// With the span that each began in.
    spans: Vec<(Option<u64>, Fields)>,
    entered: Vec<u64>,
}

impl Recorder {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics while it is held")
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.book().lines)
    }

    fn note(&self, what: &'static str, id: &Id) {
        self.book().lines.push(format!("{what} {}", id.into_u64()));
        assert_ne!(self.panics_at, Some(what), "a subscriber that panics");
    }

    /// The only span that there was, without the names of what was called.
    fn take_only(&self) -> Fields {
        let mut book = self.book();
        book.lines.clear();
        let mut spans = std::mem::take(&mut book.spans);
        assert_eq!(spans.len(), 1, "{spans:?}");
        spans.remove(0).1
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_call = metadata.is_span() && metadata.target() == "bulkhead_runtime::call";
        is_call || metadata.target() == module_path!()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let metadata = span.metadata();
        let known = (metadata.name(), metadata.level());
        assert_eq!(known, ("call", &Level::DEBUG), "as it is documented");
        assert!(span.is_contextual(), "it belongs where the body starts");
        let mut fields = Keep::default();
        span.record(&mut fields);
        let mut book = self.book();
        let parent = book.entered.last().copied();
        book.spans.push((parent, fields.0));
        let id = Id::from_u64(book.spans.len() as u64);
        drop(book);
        self.note("begins", &id);
        id
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, id: &Id) {
        self.book().entered.push(id.into_u64());
        self.note("enters", id);
    }

    fn exit(&self, id: &Id) {
        let left = self.book().entered.pop();
        assert_eq!(left, Some(id.into_u64()), "the innermost");
        self.note("leaves", id);
    }

    fn try_close(&self, id: Id) -> bool {
        let index = usize::try_from(id.into_u64()).expect("a few") - 1;
        let name = self.book().spans[index].1["partition"].clone();
        let called = partition(&name).expect("it had a call");
        assert_eq!(called.snapshot().in_flight, 1, "its permit is not free yet");
        self.note("ends", &id);
        true
    }

    fn event(&self, _: &Event<'_>) {
        let mut book = self.book();
        let inside = book.entered.last().copied().unwrap_or_default();
        book.lines.push(format!("told in {inside}"));
    }
}

#[derive(Default)]
struct Keep(Fields);

impl Visit for Keep {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// How a body ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    AtOnce,
    Later,
    Failing,
    Panicking,
    Never,
}

async fn body(ending: Ending) -> Answer {
    tracing::info!("in the first poll");
    match ending {
        Ending::AtOnce => {}
        Ending::Later => {
            yield_now().await;
            tracing::info!("in the second poll");
        }
        Ending::Failing => Err("it went wrong")?,
        Ending::Panicking => panic!("{ON_PURPOSE}"),
        Ending::Never => pending().await,
    }
    Ok(())
}

#[bulkhead(name = "spans-plain", max = 2)]
async fn plain_call(ending: Ending) -> Answer {
    body(ending).await
}

#[bulkhead(name = "spans-timed", max = 2, timeout = 1s)]
async fn timed_call(ending: Ending) -> Answer {
    body(ending).await
}

#[bulkhead(name = "spans-contract", max = 2, deadline = 100ms, margin = 20ms, breaker(consecutive = 9))]
async fn contract_call(ending: Ending) -> Answer {
    body(ending).await
}

/// So many calls went well that its breaker asks for nobody's time.
#[bulkhead(name = "spans-calm", max = 2, deadline = 100ms, margin = 20ms, breaker(consecutive = 9))]
async fn calm_call(ending: Ending) -> Answer {
    body(ending).await
}

/// After so many in one moment, few calls have to be told to a breaker with the time.
const MANY: usize = 1_000;

fn calm_down() {
    let calm = partition("spans-calm").expect("declared above");
    calm.breakers().for_each(Breaker::reset);
    with_default(NoSubscriber::default(), || {
        for _ in 0..MANY {
            let called = poll_once(pin!(calm_call(Ending::AtOnce)));
            assert!(matches!(called, Poll::Ready(Ok(()))), "it has room");
        }
    });
}

static BY_HAND: LazyLock<&Partition> = LazyLock::new(|| plain("spans-by-hand", 2));
static LAYERED: LazyLock<&Partition> = LazyLock::new(|| plain("spans-layer", 2));

async fn by_hand(ending: Ending) -> Answer {
    BY_HAND.call(body(ending)).await?
}

async fn layered(ending: Ending) -> Answer {
    let layer = BulkheadLayer::new(*LAYERED).as_error();
    layer.layer(service_fn(body)).call(ending).await
}

/// A kind of call, and what its span says of it.
type Kind = (fn(Ending) -> Called, &'static [&'static str]);

fn kinds() -> [Kind; 6] {
    [
        (
            |ending| Box::pin(plain_call(ending)),
            &["spans-plain", "spans::plain_call"],
        ),
        (
            |ending| Box::pin(timed_call(ending)),
            &["spans-timed", "spans::timed_call"],
        ),
        (
            |ending| Box::pin(contract_call(ending)),
            &["spans-contract", "spans::contract_call", "80"],
        ),
        (
            |ending| Box::pin(calm_call(ending)),
            &["spans-calm", "spans::calm_call", "80"],
        ),
        (|ending| Box::pin(by_hand(ending)), &["spans-by-hand"]),
        (|ending| Box::pin(layered(ending)), &["spans-layer"]),
    ]
}

/// Those tests that call every kind do so one after the other: a span ends with one call in flight.
static ONE_BY_ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn fields<const N: usize>(fields: [(&'static str, &str); N]) -> Fields {
    let owned = fields.map(|(field, value)| (field, value.to_owned()));
    owned.into()
}

#[tokio::test(start_paused = true)]
async fn it_says_what_is_known_when_the_body_starts() {
    let _alone = ONE_BY_ONE.lock().await;
    calm_down();
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    for (call, says) in kinds() {
        call(Ending::AtOnce).await.expect("it has room");
        let mut expected = fields([("waited_ms", "0"), ("attempt", "1")]);
        let names = ["partition", "function", "deadline_left_ms"];
        expected.extend(names.into_iter().zip(says.iter().map(ToString::to_string)));
        assert_eq!(recorder.take_only(), expected);

        let inherited = Deadline::after(ms(70)).scope(call(Ending::AtOnce));
        inherited.await.expect("it has room");
        // Whose own deadline has a margin takes that off the inherited one, too.
        let left = if says.len() > 2 { "50" } else { "70" };
        expected.insert("deadline_left_ms", left.to_owned());
        assert_eq!(recorder.take_only(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn it_says_how_long_the_call_waited() {
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    let partition = queued("spans-waited", 1, 1, ms(100));
    let expected = fields([
        ("partition", "spans-waited"),
        ("waited_ms", "30"),
        ("deadline_left_ms", "40"),
        ("attempt", "1"),
    ]);

    let held = partition.try_enter().expect("it is free");
    let mut waits = pin!(Deadline::after(ms(70)).scope(partition.call(async {})));
    assert!(poll_once(waits.as_mut()).is_pending(), "it waits");
    advance(ms(30)).await;
    assert_eq!(recorder.take(), [""; 0], "its body has not started");
    drop(held);
    waits.await.expect("its turn");
    assert_eq!(recorder.take_only(), expected);

    let held = partition.try_enter().expect("it is free");
    let mut waits = pin!(Deadline::after(ms(70)).scope(partition.run_blocking(|| ())));
    assert!(poll_once(waits.as_mut()).is_pending(), "it waits");
    advance(ms(30)).await;
    drop(held);
    waits.await.expect("its turn");
    assert_eq!(recorder.take_only(), expected);
}

fn always(_: &BoxError) -> bool {
    true
}

#[bulkhead(
    name = "spans-retried", max = 2,
    retry(idempotent, attempts = 3, backoff = 1ms, when = always),
)]
async fn retried() -> Answer {
    yield_now().await;
    Err("once more".into())
}

#[bulkhead(name = "spans-settles", max = 2, settle)]
async fn settles() -> Answer {
    yield_now().await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_span_of_its_own_with_its_number() {
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    retried().await.expect_err("it never works");
    let spans = std::mem::take(&mut recorder.book().spans);
    let attempts: Vec<_> = spans
        .iter()
        .map(|(_, span)| span["attempt"].as_str())
        .collect();
    assert_eq!(attempts, ["1", "2", "3"]);
    let lines = recorder.take();
    let ends = lines.iter().filter(|line| line.starts_with("ends"));
    assert_eq!(ends.count(), 3, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_settles_has_a_span_that_ends_with_it() {
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    let mut call = pin!(settles());
    assert!(poll_once(call.as_mut()).is_pending(), "its body is a task");
    assert_eq!(recorder.take(), ["begins 1"]);
    call.await.expect("it has room");
    assert_eq!(
        recorder.take(),
        ["enters 1", "leaves 1", "enters 1", "leaves 1", "ends 1"]
    );
}

/// What a call is to write down for each way to end.
const AT_ONCE: &[&str] = &["begins 1", "enters 1", "told in 1", "leaves 1", "ends 1"];
const LATER: &[&str] = &[
    "begins 1",
    "enters 1",
    "told in 1",
    "leaves 1",
    "told in 0",
    "enters 1",
    "told in 1",
    "leaves 1",
    "ends 1",
];
/// The poll that finds the time to be over is one of the body first.
const LATE: &[&str] = &[
    "begins 1",
    "enters 1",
    "told in 1",
    "leaves 1",
    "enters 1",
    "leaves 1",
    "ends 1",
];

#[tokio::test(start_paused = true)]
async fn it_is_entered_while_the_body_is_polled_and_ends_once_however_that_ends() {
    panics_on_purpose_are_silent();
    let _alone = ONE_BY_ONE.lock().await;
    for (call, says) in kinds() {
        let what = says[0];
        let recorder = Recorder::default();
        let take = || {
            calm_down();
            recorder.book().spans.clear();
            recorder.take()
        };
        calm_down();
        let _listening = set_default(recorder.clone());

        call(Ending::AtOnce).await.expect("it has room");
        assert_eq!(take(), AT_ONCE, "{what}");
        call(Ending::Failing).await.expect_err("it went wrong");
        assert_eq!(take(), AT_ONCE, "{what}");

        let mut later = call(Ending::Later);
        assert!(poll_once(later.as_mut()).is_pending(), "{what}");
        tracing::info!("between the polls");
        later.await.expect("it has room");
        assert_eq!(take(), LATER, "{what}");

        let unwound = catch_unwind(AssertUnwindSafe(|| {
            poll_once(call(Ending::Panicking).as_mut())
        }));
        assert!(unwound.is_err(), "{what}");
        assert_eq!(take(), AT_ONCE, "{what}");

        let late = Deadline::after(ms(50)).scope(call(Ending::Never));
        late.await.expect_err("its time is over");
        assert_eq!(take(), LATE, "{what}");

        let mut left = call(Ending::Never);
        assert!(poll_once(left.as_mut()).is_pending(), "{what}");
        drop(left);
        assert_eq!(take(), AT_ONCE, "{what}");

        let called = partition(what).expect("it had calls");
        let outcomes = called.snapshot().outcomes;
        let each = [outcomes.panicked, outcomes.timed_out, outcomes.cancelled];
        assert_eq!(each, [1, 1, 1], "{what}");
        assert_idle(called);
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_its_own_ends_it_too() {
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    let late = plain("spans-timeout", 1).call(body(Ending::Never));
    late.timeout(ms(30)).await.expect_err("its time is over");
    assert_eq!(recorder.take(), LATE);
}

#[bulkhead(name = "spans-outer", max = 2)]
async fn outer() -> Answer {
    tracing::info!("before");
    inner().await?;
    tracing::info!("after");
    Ok(())
}

#[bulkhead(name = "spans-inner", max = 2, timeout = 1s)]
async fn inner() -> Answer {
    body(Ending::Later).await
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_a_call_is_a_span_inside_a_span() {
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    outer().await.expect("it has room");
    let parents: Vec<_> = recorder.book().spans.iter().map(|span| span.0).collect();
    assert_eq!(parents, [None, Some(1)]);
    let expected = [
        ["begins 1", "enters 1", "told in 1"].as_slice(),
        &["begins 2", "enters 2", "told in 2", "leaves 2", "leaves 1"],
        &["enters 1", "enters 2", "told in 2", "leaves 2", "ends 2"],
        &["told in 1", "leaves 1", "ends 1"],
    ];
    assert_eq!(recorder.take(), expected.concat());
}

#[tokio::test(start_paused = true)]
async fn blocking_work_is_a_span_of_its_caller_and_entered_where_it_works() {
    panics_on_purpose_are_silent();
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    let around = plain("spans-around-blocking", 1);
    let partition = plain("spans-blocking", 1);
    let work = around.call(partition.run_blocking(|| ()));
    work.await.expect("it has room").expect("it has room");
    let book = std::mem::take(&mut *recorder.book());
    assert_eq!(
        book.spans[1].0,
        Some(1),
        "inside the call that asked for it"
    );
    let of_the_work = book.lines.iter().filter(|line| line.ends_with('2'));
    let of_the_work: Vec<_> = of_the_work.collect();
    assert_eq!(of_the_work, ["begins 2", "enters 2", "leaves 2", "ends 2"]);

    let panics = tokio::spawn(partition.run_blocking(|| panic!("{ON_PURPOSE}")));
    assert!(panics.await.is_err_and(|error| error.is_panic()));
    let ended = ["begins 1", "enters 1", "leaves 1", "ends 1"];
    assert_eq!(recorder.take(), ended);
}

#[tokio::test(start_paused = true)]
async fn what_never_ran_and_what_is_held_by_hand_has_none() {
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    let partition = queued("spans-rejected", 1, 1, ms(20));
    let held = partition.enter().await.expect("it is free");
    {
        let mut leaves = pin!(partition.call(async {}));
        assert!(poll_once(leaves.as_mut()).is_pending(), "it waits");
        let full = poll_once(pin!(partition.call(async {})));
        assert!(matches!(full, Poll::Ready(Err(_))), "it is full");
    }
    let late = partition.call(async {}).await;
    late.expect_err("its wait is over");
    drop(held);
    drop(partition.try_enter().expect("it is free"));
    partition.close();
    let closed = partition.run_blocking(|| ()).await;
    closed.expect_err("it is closed");
    let spent = Deadline::after(ms(0)).scope(outer());
    spent.await.expect_err("there is no time left");
    assert_eq!(recorder.take(), [""; 0]);
    assert!(recorder.book().spans.is_empty());
}

/// Wants no span, and says so once or each time that it is asked.
struct Deaf {
    is_sure: bool,
}

impl Subscriber for Deaf {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        if self.is_sure {
            Interest::never()
        } else {
            Interest::sometimes()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        unreachable!("it wants none")
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[bulkhead(name = "spans-unwanted", max = 2)]
async fn unwanted() -> Answer {
    Ok(())
}

#[bulkhead(name = "spans-unwanted-contract", max = 2, deadline = 1s, breaker())]
async fn unwanted_under_contract() -> Answer {
    yield_now().await;
    Ok(())
}

#[test]
fn where_nobody_wants_it_a_call_allocates_nothing_for_it() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    let _context = runtime.enter();
    let calls = || {
        for _ in 0..100 {
            assert!(poll_once(pin!(unwanted())).is_ready());
            let mut parks = pin!(unwanted_under_contract());
            assert!(poll_once(parks.as_mut()).is_pending());
            assert!(poll_once(parks).is_ready());
        }
    };
    calls();
    for is_sure in [true, false] {
        let _listening = set_default(Deaf { is_sure });
        calls();
        assert_eq!(measure(calls).count_total, 0, "sure: {is_sure}");
    }
    let _listening = set_default(Recorder::default());
    assert!(measure(calls).count_total > 200, "the counter counts");
}

/// A first poll that takes so long, and then what is left.
#[bulkhead(name = "spans-left-open", max = 2, deadline = 100ms, breaker())]
async fn left_after(first_poll: u64) -> Result<u128, BoxError> {
    if first_poll > 0 {
        advance(ms(first_poll)).await;
    }
    let deadline = Deadline::current().expect("it has one");
    Ok(deadline.remaining().as_millis())
}

#[tokio::test(start_paused = true)]
async fn where_nobody_wants_it_nobody_asks_for_the_deadline() {
    for _ in 0..MANY {
        left_after(0).await.expect("it has room");
    }
    {
        let _deaf = set_default(Deaf { is_sure: false });
        let left = left_after(30).await.expect("it has room");
        assert_eq!(left, 100, "from when somebody first asks");
    }
    let recorder = Recorder::default();
    let _listening = set_default(recorder.clone());
    let left = left_after(30).await.expect("it has room");
    assert_eq!(left, 70, "from when the span told of it");
    assert_eq!(recorder.take_only()["deadline_left_ms"], "100");
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_changes_neither_result_nor_counts() {
    panics_on_purpose_are_silent();
    let partition = plain("spans-panicking-subscriber", 1);
    for panics_at in ["begins", "enters", "leaves", "ends"] {
        let _listening = set_default(Recorder {
            panics_at: Some(panics_at),
            ..Recorder::default()
        });
        let answered = partition.call(body(Ending::Later)).await;
        answered.expect("it has room").expect("it works");
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let call = pin!(partition.call(body(Ending::Panicking)));
            poll_once(call).is_ready()
        }));
        let thrown = unwound.expect_err("the body panics");
        let thrown = thrown.downcast_ref::<String>().map(String::as_str);
        assert_eq!(thrown, Some(ON_PURPOSE), "{panics_at}");
        let left = partition.call(body(Ending::Never)).timeout(ms(10));
        left.await.expect_err("its time is over");
    }
    let outcomes = partition.snapshot().outcomes;
    let each = [outcomes.success, outcomes.panicked, outcomes.timed_out];
    assert_eq!(each, [4, 4, 4]);
    assert_idle(partition);
}
