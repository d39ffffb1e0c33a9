//! The clocks of a function: which one ends a call in which room, and what the error says of it.

mod common;

use std::future::{Future, pending};
use std::task::Poll;
use std::time::Duration;

use bulkhead_runtime::{BulkheadError, Deadline, Partition, Reason, bulkhead, partition};
use common::{Crowd, assert_idle, ms, poll_once};
use tokio::time::{Instant, advance, sleep};

fn find(name: &str) -> &'static Partition {
    partition(name).expect("it is declared")
}

/// One holds its only permit for as long, from now on.
fn hold(partition: &'static Partition, time: Duration) {
    let permit = partition.try_enter().expect("it is free");
    tokio::spawn(async move {
        sleep(time).await;
        drop(permit);
    });
}

/// The error of a call, and how long it took.
async fn fails_after<T>(
    call: impl Future<Output = Result<T, BulkheadError>>,
) -> (BulkheadError, Duration) {
    let start = Instant::now();
    let error = call.await.err().expect("it fails");
    (error, start.elapsed())
}

#[bulkhead(
    name = "contract-rooms", max = 1, queue = 4, wait = 50ms, timeout = 200ms, deadline = 300ms, margin = 50ms,
    breaker(),
)]
async fn in_both_rooms(time: Duration) -> Result<(), BulkheadError> {
    sleep(time).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn under_a_whole_contract_the_timeout_does_not_count_the_queue_either() {
    let rooms = find("contract-rooms");
    hold(rooms, ms(40));
    let start = Instant::now();
    in_both_rooms(ms(190))
        .await
        .expect("40 ms in the queue and 190 in the body are within both");
    assert_eq!(start.elapsed(), ms(230));

    hold(rooms, ms(60));
    let (error, after) = fails_after(in_both_rooms(ms(1))).await;
    assert_eq!((error.reason(), after), (Reason::WaitTimeout, ms(50)));
    assert_eq!(
        error.to_string(),
        "`contract-rooms` timed out after 50ms in the queue (`wait`): 1 of 1 permits in flight, 0 waiting"
    );
    sleep(ms(11)).await;

    hold(rooms, ms(40));
    let (error, after) = fails_after(in_both_rooms(ms(1_000))).await;
    assert_eq!(
        after,
        ms(240),
        "the timeout is nearer than the deadline at 250"
    );
    assert_eq!(
        error.to_string(),
        "`contract-rooms` timed out after 200ms in the body (`timeout` = 200ms); it had waited 40ms in the queue"
    );
    let BulkheadError::CallTimeout(timeout) = error else {
        panic!("{error}")
    };
    assert_eq!((timeout.waited(), timeout.ran()), (ms(40), ms(200)));
    let s = rooms.snapshot();
    assert_eq!((s.rejected.wait_timeout, s.outcomes.timed_out), (1, 1));
    assert_idle(rooms);
}

#[bulkhead(name = "contract-no-timeout", max = 1, queue = 4, wait = 60ms, deadline = 120ms, margin = 20ms)]
async fn hangs(crowd: &Crowd) -> Result<(), BulkheadError> {
    let _inside = crowd.enter();
    pending().await
}

#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_the_queue_and_the_body_together() {
    let partition = find("contract-no-timeout");
    let crowd = Crowd::default();
    let (error, after) = fails_after(hangs(&crowd)).await;
    assert_eq!(after, ms(100), "the deadline, less the margin");
    assert!(error.body_ran(), "{error}");

    hold(partition, ms(55));
    let (error, after) = fails_after(hangs(&crowd)).await;
    assert_eq!(after, ms(100), "and not 100 from the permit");
    assert_eq!(
        error.to_string(),
        "`contract-no-timeout` was stopped by its deadline, after 45ms in the body; it had waited 55ms in the queue"
    );
    let BulkheadError::DeadlineExceeded(late) = error else {
        panic!("{error}")
    };
    assert_eq!((late.waited(), late.ran()), (ms(55), Some(ms(45))));

    hold(partition, ms(80));
    let (error, after) = fails_after(hangs(&crowd)).await;
    assert_eq!(
        (error.reason(), after),
        (Reason::WaitTimeout, ms(60)),
        "the wait is nearer"
    );

    // A caller who has 35 ms, less the margin.
    let (error, after) = fails_after(Deadline::after(ms(35)).scope(hangs(&crowd))).await;
    assert_eq!(after, ms(15));
    assert_eq!(
        error.to_string(),
        "`contract-no-timeout` was not entered by its deadline, after 15ms in the queue: 1 of 1 permits in flight, 0 waiting"
    );
    sleep(ms(6)).await;
    assert_eq!((crowd.ever(), crowd.inside()), (2, 0));
    let s = partition.snapshot();
    assert_eq!((s.rejected.wait_timeout, s.rejected.deadline), (1, 1));
    assert_idle(partition);
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_comes_in_the_instant_of_the_deadline_comes_too_late() {
    #[bulkhead(name = "contract-instant", max = 1, queue = 4, wait = 60ms, deadline = 100ms, margin = 10ms)]
    async fn enters(crowd: &Crowd) -> Result<(), BulkheadError> {
        let _inside = crowd.enter();
        Ok(())
    }

    let partition = find("contract-instant");
    let crowd = Crowd::default();
    for (inherited, until, reason) in [
        (1_000, 60, Reason::WaitTimeout),
        (70, 60, Reason::WaitTimeout),
        (69, 59, Reason::DeadlineExceeded),
    ] {
        let held = partition.try_enter().expect("it is free");
        let deadline = Deadline::after(ms(inherited));
        let mut waits = Box::pin(deadline.scope(enters(&crowd)));
        let mut behind = Box::pin(enters(&crowd));
        assert!(poll_once(waits.as_mut()).is_pending());
        advance(ms(1)).await;
        assert!(poll_once(behind.as_mut()).is_pending());
        advance(ms(until - 1)).await;
        drop(held);
        let Poll::Ready(Err(error)) = poll_once(waits.as_mut()) else {
            panic!("its time is up in this very instant")
        };
        assert_eq!((error.reason(), crowd.inside()), (reason, 0));
        assert!(!error.body_ran(), "{error}");
        behind
            .await
            .expect("the permit is the next one's, who has time");
    }
    assert_eq!(crowd.ever(), 3, "those behind");
    assert_idle(partition);
}

#[partition(name = "contract-measured", max = 1, queue = 2, wait = 100ms, measured(rate = 1, mean = 50ms))]
static MEASURED: Partition;

#[bulkhead(MEASURED, deadline = 1s)]
async fn takes_the_mean(crowd: &Crowd) -> Result<(), BulkheadError> {
    let _inside = crowd.enter();
    sleep(ms(50)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_finish_takes_no_permit_and_passes_on_what_it_was_granted() {
    let crowd = Crowd::default();
    let (error, after) = fails_after(Deadline::after(ms(49)).scope(takes_the_mean(&crowd))).await;
    assert_eq!((error.reason(), after), (Reason::DeadlineExceeded, ms(0)));
    assert_eq!(
        (MEASURED.snapshot().highest_in_flight, crowd.ever()),
        (0, 0)
    );
    let s = MEASURED.snapshot();
    assert_eq!((s.rejected.deadline, s.rejected.total()), (1, 1));

    let held = MEASURED.try_enter().expect("it is free");
    let mut late = Box::pin(Deadline::after(ms(80)).scope(takes_the_mean(&crowd)));
    let mut next = Box::pin(takes_the_mean(&crowd));
    assert!(poll_once(late.as_mut()).is_pending() && poll_once(next.as_mut()).is_pending());
    advance(ms(31)).await;
    drop(held);
    let Poll::Ready(Err(error)) = poll_once(late.as_mut()) else {
        panic!("49 ms are left, and a call takes 50")
    };
    assert_eq!(error.reason(), Reason::DeadlineExceeded);
    assert!(poll_once(next.as_mut()).is_pending());
    assert_eq!(crowd.inside(), 1, "the permit is the next one's");
    next.await.expect("it has all the time in the world");
    assert_eq!(crowd.ever(), 1);
    let s = MEASURED.snapshot();
    assert_eq!(
        (s.rejected.deadline, s.rejected.total(), s.abandoned),
        (2, 2, 0)
    );
    assert_idle(&MEASURED);
}

#[tokio::test(start_paused = true)]
async fn those_who_cannot_finish_make_room_in_the_queue_when_their_time_is_up() {
    let _isolated = bulkhead_runtime::test::isolate();
    let crowd = Crowd::default();
    hold(&MEASURED, ms(90));
    let short = Deadline::after(ms(60));
    let mut short = [(); 2].map(|()| Box::pin(short.scope(takes_the_mean(&crowd))));
    for call in &mut short {
        assert!(poll_once(call.as_mut()).is_pending());
    }
    let (error, _) = fails_after(takes_the_mean(&crowd)).await;
    assert_eq!(error.reason(), Reason::Full);
    // Nobody polls the two, and still their places are free after 10 ms.
    advance(ms(10)).await;
    takes_the_mean(&crowd)
        .await
        .expect("a place in the queue, and then the permit");
    for call in short {
        assert_eq!(fails_after(call).await.0.reason(), Reason::DeadlineExceeded);
    }
    assert_eq!(crowd.ever(), 1);
    assert_idle(&MEASURED);
}
