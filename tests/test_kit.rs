//! The test kit, as those use it who test their own handlers.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use bulkhead_runtime::{BulkheadError, Mode, Partition, Reason, bulkhead, partition, test};
use tower::ServiceExt;

#[partition(name = "kit-database", max = 3, queue = 2, wait = 50ms)]
static DATABASE: Partition;

#[bulkhead(name = "kit-report", max = 2)]
async fn report() -> Result<&'static str, BulkheadError> {
    Ok("the report")
}

#[bulkhead(DATABASE, timeout = 100ms)]
async fn query() -> Result<(), BulkheadError> {
    Ok(())
}

async fn ask(path: &str) -> u16 {
    let router = Router::new().route("/report", get(report));
    let request = Request::get(path).body(Body::empty()).expect("a request");
    let response = router.oneshot(request).await;
    response
        .unwrap_or_else(|never| match never {})
        .status()
        .as_u16()
}

#[tokio::test]
async fn a_handler_answers_503_when_its_partition_is_full() {
    let _isolated = test::isolate();
    let reports = partition("kit-report").expect("it is declared above");
    let full = reports.fill();
    assert_eq!((full.permits(), full.places()), (2, 0));
    assert_eq!(ask("/report").await, 503);
    drop(full);
    assert_eq!(ask("/report").await, 200);
    test::expect(reports)
        .is_idle()
        .rejected(Reason::Full, 1)
        .success(1)
        .failure(0)
        .cancelled(0)
        .panicked(0);
}

/// Ten of these in one process, side by side: without isolation they would meet.
macro_rules! undisturbed {
    ($($name:ident)*) => { mod tests_side_by_side_do_not_meet { use super::*; $(
        #[tokio::test]
        async fn $name() {
            let _isolated = test::isolate();
            test::expect(&DATABASE).is_idle().nothing_rejected().success(0);
            let full = DATABASE.fill();
            assert_eq!((full.permits(), full.places()), (3, 2));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            let error = query().await.expect_err("it is full");
            assert_eq!(error.reason(), Reason::Full);
            DATABASE.resize(7).expect("legal");
            drop(full);
            query().await.expect("there is room");
            let spawned = tokio::spawn(query());
            spawned.await.expect("no panic").expect("on this thread too");
            test::expect(&DATABASE).is_idle().headroom(7).success(2).rejected(Reason::Full, 1);
        }
    )*} };
}

undisturbed!(first second third fourth fifth sixth seventh eighth ninth tenth);

#[tokio::test]
async fn an_isolation_ends_and_an_inner_one_is_fresh() {
    let outer = test::isolate();
    drop(DATABASE.try_enter().expect("it is fresh"));
    {
        let _inner = test::isolate();
        test::expect(&DATABASE).success(0);
        DATABASE.close();
    }
    test::expect(&DATABASE).success(1).headroom(3);
    assert!(
        DATABASE.try_enter().is_ok(),
        "what the inner one closed is gone"
    );
    drop(outer);
    assert_eq!(
        DATABASE.snapshot().outcomes.success,
        0,
        "as nobody else uses it"
    );
}

#[tokio::test]
async fn a_permit_of_an_isolation_may_be_given_back_on_any_thread() {
    let _isolated = test::isolate();
    let permit = DATABASE.try_enter().expect("it is fresh");
    test::expect(&DATABASE).in_flight(1);
    std::thread::spawn(move || {
        // This thread is not isolated, and the permit knows where it is from.
        assert_eq!(DATABASE.snapshot().in_flight, 0);
        drop(permit);
    })
    .join()
    .expect("no panic");
    test::expect(&DATABASE).is_idle().success(1);
}

#[test]
#[should_panic = "an isolation ends before one that was made after it: drop the last one first"]
fn isolations_that_end_in_the_wrong_order_are_told_of() {
    let outer = test::isolate();
    let _inner = test::isolate();
    drop(outer);
}

#[test]
#[should_panic = "`kit-report` cannot be filled: it is observe, and never full"]
fn a_partition_that_rejects_nobody_cannot_be_filled() {
    let _isolated = test::isolate();
    let reports = partition("kit-report").expect("it is declared above");
    reports.mode(Mode::Observe);
    drop(reports.fill());
}

#[test]
#[should_panic = "`kit-report`: expected 2 ended in success, found 0\n  permits   1 in flight and 0 granted of 2\n"]
fn an_expectation_that_is_not_met_shows_every_count() {
    let _isolated = test::isolate();
    let reports = partition("kit-report").expect("it is declared above");
    let _permit = reports.try_enter().expect("it is fresh");
    test::expect(reports).in_flight(1).success(2);
}
