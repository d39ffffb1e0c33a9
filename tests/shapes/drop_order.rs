//! What a guarded function drops, and when: as the plain `async fn` does, in the edition of this
//! crate. The file is compiled in both.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

use bulkhead_runtime::{bulkhead, BulkheadError};

thread_local! {
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn log(event: &'static str) {
    LOG.with_borrow_mut(|log| log.push(event));
}

fn logged() -> Vec<&'static str> {
    LOG.take()
}

/// Says when it is dropped.
struct Noted(&'static str);

impl Noted {
    fn touch(&self) {}

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        log(self.0);
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

struct Pair {
    #[expect(dead_code, reason = "the body must use only a part of it")]
    left: Noted,
    right: Noted,
}

/// One suspension.
fn pause() -> impl Future<Output = ()> {
    let mut is_done = false;
    std::future::poll_fn(move |_| {
        if std::mem::replace(&mut is_done, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
}

/// The same function four times: plain, guarded, guarded with room for a timer, and with a deadline and a breaker.
macro_rules! four_times {
    (async fn $name:ident($($arguments:tt)*) -> $output:ty $body:block) => {
        mod $name {
            use super::*;

            pub async fn plain($($arguments)*) -> $output $body

            #[bulkhead(name = concat!("drop_order.", stringify!($name)), max = 4)]
            pub async fn guarded($($arguments)*) -> $output $body

            #[bulkhead(name = concat!("drop_order.", stringify!($name)), max = 4, timeout = 2s)]
            pub async fn timed($($arguments)*) -> $output $body

            #[bulkhead(
                name = concat!("drop_order.", stringify!($name)), max = 4, timeout = 2s,
                deadline = 3s, margin = 150ms, breaker(),
            )]
            pub async fn bounded($($arguments)*) -> $output $body
        }
    };
}

four_times! {
    async fn arguments(a: Noted, (b, mut c): (Noted, Noted), _guard: Noted, d: Pair, [e, f]: [Noted; 2]) -> Result<usize, BulkheadError> {
        // Not in the order of the declaration, and only a part of one of them.
        f.touch();
        d.right.touch();
        c.touch();
        c = Noted("another c");
        let local = Noted("local");
        a.touch();
        pause().await;
        let late = Noted("late local");
        Ok(b.len() + c.len() + e.len() + local.len() + late.len())
    }
}

four_times! {
    async fn consumed(a: Noted, b: Noted, c: Noted, stop: bool) -> Result<usize, BulkheadError> {
        let local = b;
        pause().await;
        if stop {
            drop(a);
            panic!("stop");
        }
        c.touch();
        Ok(local.len())
    }
}

four_times! {
    async fn formatted(a: Noted, name: Noted, b: Noted) -> Result<usize, BulkheadError> {
        a.touch();
        b.touch();
        Ok(format!("{name}").len())
    }
}

four_times! {
    async fn question_mark(a: Noted, b: Result<Noted, BulkheadError>, fail: BulkheadError) -> Result<usize, BulkheadError> {
        let b = b?;
        let local = Noted("local");
        pause().await;
        a.touch();
        Err(fail)?;
        Ok(local.len() + b.len())
    }
}

four_times! {
    async fn tail_temporary(a: Noted, b: Noted) -> Result<usize, BulkheadError> {
        let local = Noted("local");
        pause().await;
        local.touch();
        Ok(Noted("temporary").len() + a.len() + b.len())
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = poll(future.as_mut()) {
            return output;
        }
    }
}

/// Everything that can happen to a call.
fn lives<F: Future>(call: impl Fn() -> F) -> [Vec<&'static str>; 3] {
    let finished = catch_unwind(AssertUnwindSafe(|| drop(finish(call()))));
    log(if finished.is_ok() {
        "finished"
    } else {
        "panicked"
    });
    let finished = logged();

    drop(call());
    let unpolled = logged();

    {
        let mut cancelled = Box::pin(call());
        assert!(poll(cancelled.as_mut()).is_pending(), "it pauses");
        log("cancelled");
    }
    [finished, unpolled, logged()]
}

macro_rules! same {
    ($name:ident($($argument:expr),*)) => {{
        let plain = lives(|| $name::plain($($argument),*));
        assert!(plain[0].len() > 2 && plain[2].len() > 2, "there is something to compare: {plain:?}");
        assert_eq!(lives(|| $name::guarded($($argument),*)), plain, "guarded");
        assert_eq!(lives(|| $name::timed($($argument),*)), plain, "timed");
        assert_eq!(lives(|| $name::bounded($($argument),*)), plain, "bounded");
        plain
    }};
}

fn pair() -> Pair {
    Pair {
        left: Noted("d.left"),
        right: Noted("d.right"),
    }
}

fn rejection() -> BulkheadError {
    bulkhead_runtime::register("drop_order.closed", bulkhead_runtime::Policy::new(1))
        .map(|partition| {
            let _held = partition.try_enter();
            partition.try_enter().expect_err("its only permit is held")
        })
        .expect("it is registered once per policy")
}

#[tokio::test(start_paused = true)]
async fn arguments_drop_in_the_reverse_order_of_their_declaration() {
    let plain = same!(arguments(
        Noted("a"),
        (Noted("b"), Noted("c")),
        Noted("guard"),
        pair(),
        [Noted("e"), Noted("f")]
    ));
    let expected = [
        "c",
        "late local",
        "local",
        "f",
        "e",
        "d.left",
        "d.right",
        "guard",
        "another c",
        "b",
        "a",
        "finished",
    ];
    assert_eq!(plain[0], expected);
}

#[tokio::test(start_paused = true)]
async fn what_the_body_consumes_drops_where_it_does() {
    same!(consumed(Noted("a"), Noted("b"), Noted("c"), false));
    let plain = same!(consumed(Noted("a"), Noted("b"), Noted("c"), true));
    assert_eq!(plain[0].last(), Some(&"panicked"));
}

#[tokio::test(start_paused = true)]
async fn an_early_return_drops_what_a_plain_one_does() {
    let plain = same!(question_mark(Noted("a"), Ok(Noted("b")), rejection()));
    assert_eq!(plain[0], ["local", "b", "a", "finished"]);
}

/// A temporary of the last expression outlives the locals up to edition 2021, and no longer since
/// 2024. It follows the edition of the function, not that of the macro.
#[tokio::test(start_paused = true)]
async fn temporaries_of_the_last_expression_follow_the_edition() {
    let plain = same!(tail_temporary(Noted("a"), Noted("b")));
    let local = plain[0].iter().position(|event| *event == "local");
    let temporary = plain[0].iter().position(|event| *event == "temporary");
    let is_before = temporary < local;
    assert_eq!(is_before, cfg!(edition2024), "{plain:?}");
}

#[test]
fn an_argument_in_a_format_string_is_an_argument() {
    let drops = |output: Result<usize, BulkheadError>| {
        assert_eq!(output.unwrap(), 4);
        logged()
    };
    let plain = drops(finish(formatted::plain(
        Noted("a"),
        Noted("name"),
        Noted("b"),
    )));
    assert_eq!(plain, ["b", "name", "a"]);
    assert_eq!(
        drops(finish(formatted::guarded(
            Noted("a"),
            Noted("name"),
            Noted("b")
        ))),
        plain
    );
    assert_eq!(
        drops(finish(formatted::timed(
            Noted("a"),
            Noted("name"),
            Noted("b")
        ))),
        plain
    );
    assert_eq!(
        drops(finish(formatted::bounded(
            Noted("a"),
            Noted("name"),
            Noted("b")
        ))),
        plain
    );
}

#[bulkhead(name = "drop_order.rejected", max = 1)]
async fn rejected(a: Noted, _guard: Noted) -> Result<(), BulkheadError> {
    log("polled");
    pause().await;
    a.touch();
    Ok(())
}

#[test]
fn a_rejected_call_drops_its_arguments_and_never_polls_the_body() {
    let mut running = pin!(rejected(Noted("first a"), Noted("first guard")));
    assert!(
        poll(running.as_mut()).is_pending(),
        "it holds the only permit"
    );
    assert_eq!(logged(), ["polled"]);

    let error = finish(rejected(Noted("a"), Noted("guard"))).expect_err("there is no permit left");
    assert!(!error.body_ran(), "{error}");
    assert_eq!(logged(), ["guard", "a"]);
}
