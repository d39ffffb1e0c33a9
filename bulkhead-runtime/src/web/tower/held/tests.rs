//! Bodies that panic, hang, or never yield; and clocks that nobody watches.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::task::Waker;

use axum::body::Bytes;
use http::Response;
use tokio::runtime::{Builder, Handle};
use tokio::time::{advance, sleep};
use tower::{Layer, ServiceExt, service_fn};

use super::*;
use crate::sync::Mutex;
use crate::{BulkheadError, BulkheadLayer, Partition, Policy, register};

const LONG: Duration = Duration::from_secs(60);

type Polled = streaming::Polled<Bytes, BoxError>;

/// What a server asks a body.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Question {
    Frame,
    IsEndStream,
    SizeHint,
}

/// What a test knows of a body that the layer has.
#[derive(Default)]
struct Told {
    panics_at: Mutex<Option<Question>>,
    /// When the body was dropped; 0 before.
    in_flight: AtomicU64,
}

/// A body that does what a test says.
struct Odd {
    poll: Box<dyn FnMut() -> Polled + Send>,
    partition: &'static Partition,
    told: Arc<Told>,
}

impl Odd {
    fn new(
        partition: &'static Partition,
        poll: impl FnMut() -> Polled + Send + 'static,
    ) -> (Self, Arc<Told>) {
        let told = Arc::<Told>::default();
        let odd = Self {
            poll: Box::new(poll),
            partition,
            told: Arc::clone(&told),
        };
        (odd, told)
    }

    /// Panics, without a word to the panic hook.
    fn is_asked(&self, question: Question) {
        let panics = *self.told.panics_at.lock() == Some(question);
        if panics {
            resume_unwind(Box::new("on purpose"));
        }
    }
}

impl Body for Odd {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Polled {
        self.is_asked(Question::Frame);
        (self.poll)()
    }

    fn is_end_stream(&self) -> bool {
        self.is_asked(Question::IsEndStream);
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.is_asked(Question::SizeHint);
        SizeHint::default()
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        let in_flight = self.partition.snapshot().in_flight;
        self.told.in_flight.store(in_flight, Ordering::SeqCst);
    }
}

fn frame() -> Polled {
    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
}

fn plain(name: &str) -> &'static Partition {
    register(name, Policy::new(1)).expect("each test has a name of its own")
}

async fn held(partition: &'static Partition, body: Odd) -> HeldBody<Odd> {
    let layer = BulkheadLayer::new(partition)
        .reject(|error| -> Result<Response<Odd>, Infallible> { unreachable!("{error}") });
    let body = Arc::new(Mutex::new(Some(body)));
    let service = service_fn(move |()| {
        let body = body.lock().take().expect("it is called once");
        ready(Ok(Response::new(body)))
    });
    let response = layer.until_body(LONG).layer(service).oneshot(()).await;
    response.unwrap_or_else(|never| match never {}).into_body()
}

fn poll(body: &mut HeldBody<Odd>) -> Polled {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn unwinds<T>(run: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(run()))).is_err()
}

#[track_caller]
fn assert_late(polled: &Polled) {
    let Poll::Ready(Some(Err(error))) = polled else {
        panic!("it is an error: {polled:?}")
    };
    assert!(
        matches!(error.downcast_ref(), Some(BulkheadError::CallTimeout(_))),
        "{error}"
    );
}

/// One call, which has ended as `outcome` says, and whose body went first.
#[track_caller]
fn assert_ended(partition: &Partition, told: &Told, outcome: fn(&crate::Outcomes) -> u64) {
    let snapshot = partition.snapshot();
    let outcomes = snapshot.outcomes;
    assert_eq!(
        (outcome(&outcomes), outcomes.total(), snapshot.in_flight),
        (1, 1, 0),
        "{outcomes:?}"
    );
    assert_eq!(
        told.in_flight.load(Ordering::SeqCst),
        1,
        "the body is gone before its permit"
    );
}

#[tokio::test]
async fn a_body_that_panicked_never_passes_for_one_that_has_ended() {
    for question in [Question::Frame, Question::IsEndStream, Question::SizeHint] {
        let partition = plain(&format!("held-panics-{question:?}").to_lowercase());
        let (odd, told) = Odd::new(partition, frame);
        let mut body = held(partition, odd).await;
        *told.panics_at.lock() = Some(question);
        let unwound = match question {
            Question::SizeHint => unwinds(|| body.size_hint()),
            Question::Frame | Question::IsEndStream => unwinds(|| poll(&mut body)),
        };
        assert!(unwound, "{question:?}");
        assert_ended(partition, &told, |outcomes| outcomes.panicked);
        assert!(!body.is_end_stream(), "{question:?}: it never ended");
        let polled = poll(&mut body);
        let is_error = matches!(polled, Poll::Ready(Some(Err(_))));
        assert!(is_error, "{question:?}: {polled:?}");
        assert!(matches!(poll(&mut body), Poll::Ready(None)));
    }
}

#[tokio::test]
async fn a_body_that_panics_with_its_head_goes_before_its_permit() {
    for question in [Question::IsEndStream, Question::SizeHint] {
        let partition = plain(&format!("held-head-{question:?}").to_lowercase());
        let (odd, told) = Odd::new(partition, frame);
        *told.panics_at.lock() = Some(question);
        let mut call = pin!(held(partition, odd));
        assert!(unwinds(|| poll_once(call.as_mut())), "{question:?}");
        assert_ended(partition, &told, |outcomes| outcomes.panicked);
    }
}

#[test]
fn a_runtime_without_time_is_a_panic_of_the_caller() {
    let partition = plain("held-no-time");
    let (odd, told) = Odd::new(partition, frame);
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    assert!(unwinds(|| runtime.block_on(held(partition, odd))));
    assert_ended(partition, &told, |outcomes| outcomes.panicked);

    let partition = plain("held-no-runtime");
    let (odd, told) = Odd::new(partition, frame);
    let mut call = pin!(held(partition, odd));
    assert!(unwinds(|| poll_once(call.as_mut())));
    assert_ended(partition, &told, |outcomes| outcomes.panicked);
}

#[tokio::test(start_paused = true)]
async fn however_it_ends_a_body_goes_before_its_permit() {
    let partition = plain("held-order-end");
    let (odd, told) = Odd::new(partition, || Poll::Ready(None));
    let mut body = held(partition, odd).await;
    assert!(matches!(poll(&mut body), Poll::Ready(None)));
    assert_ended(partition, &told, |outcomes| outcomes.success);

    let partition = plain("held-order-drop");
    let (odd, told) = Odd::new(partition, frame);
    drop(held(partition, odd).await);
    assert_ended(partition, &told, |outcomes| outcomes.cancelled);

    let partition = plain("held-order-late");
    let (odd, told) = Odd::new(partition, || Poll::Pending);
    let mut body = held(partition, odd).await;
    sleep(2 * LONG).await;
    assert_ended(partition, &told, |outcomes| outcomes.timed_out);
    assert_late(&poll(&mut body));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_always_ready_cannot_keep_the_time_from_passing() {
    let partition = plain("held-always-ready");
    let (odd, told) = Odd::new(partition, frame);
    let mut body = held(partition, odd).await;
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Ok(_)))));
    // The clock moves, and the watch does not get its turn: this task does not yield.
    let mut moved = pin!(advance(LONG));
    assert!(poll_once(moved.as_mut()).is_pending(), "it moved the clock");
    assert_late(&poll(&mut body));
    assert_ended(partition, &told, |outcomes| outcomes.timed_out);
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_time_is_over_in_a_poll_ends_with_that_poll() {
    let partition = plain("held-late-in-poll");
    let (began, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (odd, told) = Odd::new(partition, move || {
        began.send(()).expect("the test waits for it");
        may_go_on.recv().expect("the test sends it");
        frame()
    });
    let mut body = held(partition, odd).await;
    let polling = std::thread::spawn(move || {
        let polled = poll(&mut body);
        (polled, body)
    });
    has_begun.recv().expect("it is polled");
    sleep(2 * LONG).await;
    assert_eq!(partition.snapshot().in_flight, 1, "its code still runs");
    go_on.send(()).expect("it waits");
    let (polled, mut body) = polling.join().expect("it does not panic");
    assert!(matches!(polled, Poll::Ready(Some(Ok(_)))), "{polled:?}");
    assert_ended(partition, &told, |outcomes| outcomes.timed_out);
    assert_late(&poll(&mut body));
}

#[tokio::test]
async fn nobody_watches_the_time_of_a_body_that_is_gone() {
    let partition = plain("held-watch");
    let alive = || Handle::current().metrics().num_alive_tasks();
    let before = alive();
    let (odd, _) = Odd::new(partition, frame);
    let body = held(partition, odd).await;
    assert_eq!(alive(), before + 1, "a task watches");
    drop(body);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(alive(), before, "the task is gone with it");
}
