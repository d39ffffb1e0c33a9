mod common;
use bulkhead_runtime::*;
use common::*;
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

const TOUCHY: BreakerPolicy = BreakerPolicy::new()
    .with_consecutive(1)
    .with_open_for(Duration::from_millis(100));
fn under(name: &str, policy: Policy) -> &'static Partition {
    register(name, policy.with_breaker(TOUCHY)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_panic_that_opens_it_grants_nobody_its_permit() {
    panics_on_purpose_are_silent();
    let p = under("x-panic", Policy::new(1).with_queue(2, ms(50)));
    let mut told = false;
    let mut runs = Box::pin(p.call(poll_fn(move |_| {
        if std::mem::replace(&mut told, true) {
            panic!("{}", ON_PURPOSE.to_owned())
        }
        Poll::<()>::Pending
    })));
    assert!(poll_once(runs.as_mut()).is_pending());
    let mut waits = Box::pin(p.call(ready(())));
    assert!(poll_once(waits.as_mut()).is_pending());
    let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll_once(runs.as_mut())));
    assert!(r.is_err());
    assert_eq!(p.breaker().unwrap().state(), BreakerState::Open);
    let s = p.snapshot();
    assert_eq!(
        (s.granted, s.waiting, s.rejected.breaker_open),
        (0, 0, 1),
        "{s:?}"
    );
}

async fn granted(name: &str, mode: Mode) -> (u64, Option<()>, Snapshot) {
    let p = under(name, Policy::new(1).with_queue(2, ms(50)));
    let held = p.try_enter().unwrap();
    let mut waits = Box::pin(p.call(ready(())));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    p.breaker().unwrap().force_open();
    p.mode(mode);
    let r = waits.await.ok();
    let s = p.snapshot();
    (s.rejected.breaker_open, r, s)
}

#[tokio::test(start_paused = true)]
async fn observed_a_granted_call_runs_although_the_breaker_has_opened() {
    let (n, r, s) = granted("x-observe", Mode::Observe).await;
    assert_eq!((n, r), (0, Some(())), "{s:?}");
    assert_eq!(s.would_reject, 1);
}
#[tokio::test(start_paused = true)]
async fn switched_off_a_granted_call_runs_although_the_breaker_has_opened() {
    let (n, r, s) = granted("x-off", Mode::Off).await;
    assert_eq!((n, r), (0, Some(())), "{s:?}");
}
#[tokio::test(start_paused = true)]
async fn observed_under_a_breaker_a_call_that_would_wait_is_counted_as_that() {
    let p = under("x-would-wait", Policy::new(1).with_queue(2, ms(50)));
    p.mode(Mode::Observe);
    let _held = p.try_enter().unwrap();
    let mut second = pin!(p.call(pending::<()>()));
    assert!(poll_once(second.as_mut()).is_pending());
    let s = p.snapshot();
    assert_eq!((s.would_wait, s.would_reject), (1, 0), "{s:?}");
}
#[tokio::test(start_paused = true)]
async fn switched_off_it_tells_the_breaker_nothing_of_a_call_that_was_granted_before() {
    let p = under("x-off-tells", Policy::new(1).with_queue(2, ms(50)));
    let held = p.try_enter().unwrap();
    let mut waits = Box::pin(p.call(ready(())).classify(|()| Verdict::Failure));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    p.mode(Mode::Off);
    waits.await.unwrap();
    assert_eq!(p.breaker().unwrap().state(), BreakerState::Closed);
}
#[tokio::test(start_paused = true)]
async fn switched_off_a_fitting_call_takes_no_lock_that_revokes() {
    let p = register("x-off-look", Policy::new(1).with_queue(2, ms(50))).unwrap();
    let held = p.try_enter().unwrap();
    let mut waits = Box::pin(p.call(ready(())));
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    p.mode(Mode::Off);
    tokio::time::advance(ms(60)).await;
    let _second = Box::pin(p.call(pending::<()>()));
    let mut second = _second;
    assert!(poll_once(second.as_mut()).is_pending());
    assert_eq!(p.snapshot().granted, 1);
}
