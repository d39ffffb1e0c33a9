//! Which breakers there are: of methods, generic functions and copies; and under `reject`, `classify` and
//! `#[async_trait]`.

mod common;

use std::future::{Future, pending, ready};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use bulkhead_runtime::{
    BreakerState, BulkheadError, Deadline, Partition, Reason, Verdict, bulkhead, partition,
};
use common::watched::{Failed, find, of, window};
use common::{ON_PURPOSE, assert_idle, ms, panics_on_purpose_are_silent, poll_once};

mod shapes {
    //! All on one partition.

    use super::{BulkheadError, Duration, Failed, Partition, async_trait, bulkhead, partition};

    #[partition(name = "shapes", max = 4)]
    pub(super) static SHAPES: Partition;

    pub(super) struct Cats;
    pub(super) struct Dogs;

    impl Cats {
        #[bulkhead(SHAPES, timeout = 1s, breaker(consecutive = 1))]
        pub(super) async fn feed(&self, works: bool) -> Result<(), Failed> {
            if works { Ok(()) } else { Err(Failed::Theirs) }
        }
    }

    impl Dogs {
        #[bulkhead(SHAPES, timeout = 1s, breaker(consecutive = 1))]
        pub(super) async fn feed(&self, works: bool) -> Result<(), Failed> {
            if works { Ok(()) } else { Err(Failed::Theirs) }
        }
    }

    #[bulkhead(SHAPES, timeout = 1s, breaker(consecutive = 1))]
    pub(super) async fn generic<T: Default>(works: bool) -> Result<T, Failed> {
        if works {
            Ok(T::default())
        } else {
            Err(Failed::Theirs)
        }
    }

    #[axum::debug_handler]
    #[bulkhead(SHAPES, timeout = 1s, breaker())]
    pub(super) async fn doubled() -> Result<&'static str, BulkheadError> {
        Ok("fine")
    }

    #[bulkhead(SHAPES, timeout = 1s, breaker())]
    #[axum::debug_handler]
    pub(super) async fn doubled_below() -> Result<&'static str, BulkheadError> {
        Ok("fine")
    }

    macro_rules! made {
        ($name:ident, $time:expr) => {
            #[bulkhead(SHAPES, deadline = $time, breaker())]
            pub(super) async fn $name() -> Result<(), BulkheadError> {
                Ok(())
            }
        };
    }
    made!(made_once, Duration::from_secs(1));

    #[async_trait]
    pub(super) trait Feeds {
        async fn above(&self, works: bool) -> Result<(), Failed>;
        async fn below(&self, works: bool) -> Result<(), Failed>;
        #[bulkhead(SHAPES, timeout = 1s, breaker(consecutive = 1))]
        async fn by_default(&self, works: bool) -> Result<(), Failed> {
            if works { Ok(()) } else { Err(Failed::Theirs) }
        }
    }

    #[async_trait]
    impl Feeds for Cats {
        #[bulkhead(SHAPES, deadline = 1s, breaker(consecutive = 1))]
        async fn above(&self, works: bool) -> Result<(), Failed> {
            if works { Ok(()) } else { Err(Failed::Theirs) }
        }

        #[bulkhead(SHAPES, deadline = 1s, breaker(consecutive = 1))]
        async fn below(&self, works: bool) -> Result<(), Failed> {
            self.above(works).await
        }
    }

    #[async_trait]
    impl Feeds for Dogs {
        async fn above(&self, _: bool) -> Result<(), Failed> {
            Ok(())
        }

        async fn below(&self, _: bool) -> Result<(), Failed> {
            Ok(())
        }
    }
}

#[test]
fn every_function_has_one_breaker_before_it_is_called() {
    use shapes::SHAPES;
    let paths: Vec<_> = SHAPES
        .breakers()
        .map(|breaker| breaker.function().expect("of a function"))
        .collect();
    let expected = [
        "above",
        "below",
        "by_default",
        "doubled",
        "doubled_below",
        "feed",
        "feed",
        "generic",
        "made_once",
    ];
    assert_eq!(
        paths,
        expected.map(|name| format!("contract_shapes::shapes::{name}"))
    );
    let again: Vec<_> = SHAPES.breakers().map(std::ptr::from_ref).collect();
    let first: Vec<_> = SHAPES.breakers().map(std::ptr::from_ref).collect();
    assert_eq!(first, again, "the same ones, in the same order");
    assert!(
        SHAPES.breaker().is_none(),
        "those of functions are not the partition's"
    );
    assert!(SHAPES.breakers().all(|breaker| std::ptr::eq(
        breaker.partition(),
        SHAPES.breakers().next().expect("nine").partition()
    )));
}

#[tokio::test]
async fn methods_of_one_name_have_two_breakers_and_all_types_of_a_generic_one_have_one() {
    use shapes::{Cats, Dogs, Feeds, SHAPES, doubled, doubled_below, generic, made_once};
    Cats.feed(false).await.expect_err("it fails");
    assert_eq!(
        Cats.feed(true).await.expect_err("it is open").reason(),
        Reason::BreakerOpen
    );
    Dogs.feed(true).await.expect("of another type");

    generic::<u8>(false).await.expect_err("it fails");
    let other = generic::<String>(true)
        .await
        .expect_err("it is open for all types");
    assert_eq!(other.reason(), Reason::BreakerOpen);

    Dogs.by_default(false).await.expect_err("it fails");
    assert_eq!(
        Cats.by_default(true)
            .await
            .expect_err("one default")
            .reason(),
        Reason::BreakerOpen
    );

    assert_eq!(doubled().await.expect("closed"), "fine");
    assert_eq!(doubled_below().await.expect("closed"), "fine");
    made_once().await.expect("closed");
    assert_eq!(window(of(&SHAPES, "::doubled")), (1, 0, 0));
    assert_eq!(window(of(&SHAPES, "::doubled_below")), (1, 0, 0));

    // A failure of the one is a failure of the other, which calls it; its rejection is not.
    Cats.below(false).await.expect_err("it fails");
    assert_eq!(of(&SHAPES, "::above").state(), BreakerState::Open);
    assert_eq!(of(&SHAPES, "::below").state(), BreakerState::Open);
    of(&SHAPES, "::below").reset();
    let rejected = Cats.below(true).await.expect_err("the inner one is open");
    assert_eq!(rejected.reason(), Reason::BreakerOpen);
    assert_eq!(window(of(&SHAPES, "::below")), (0, 0, 0));
    assert_idle(&SHAPES);
}

#[derive(Debug, PartialEq)]
enum Foreign {
    Missing,
    Rejected(Reason),
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`reject` is given the error itself"
)]
fn to_foreign(error: BulkheadError) -> Foreign {
    Foreign::Rejected(error.reason())
}

fn missing_is_an_answer(returned: &Result<(), Foreign>) -> Verdict {
    match returned {
        Ok(()) => Verdict::Success,
        Err(Foreign::Missing) => Verdict::Ignored,
        Err(Foreign::Rejected(_)) => Verdict::Failure,
    }
}

#[tokio::test(start_paused = true)]
async fn reject_and_classify_hold_for_deadlines_and_breakers_as_well() {
    #[bulkhead(
        name = "shapes-foreign", max = 1, deadline = 50ms, breaker(consecutive = 1), reject = to_foreign,
        classify = missing_is_an_answer,
    )]
    async fn foreign(body: impl Future<Output = Result<(), Foreign>>) -> Result<(), Foreign> {
        body.await
    }
    #[bulkhead(name = "shapes-whole", max = 1, margin = 5ms, timeout = 50ms, breaker(consecutive = 1), reject = whole)]
    async fn no_result(body: impl Future<Output = u32>) -> u32 {
        body.await
    }
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`reject` is given the error itself"
    )]
    fn whole(error: BulkheadError) -> u32 {
        if error.body_ran() { 504 } else { 503 }
    }

    let breaker = of(find("shapes-foreign"), "::foreign");
    for _ in 0..5 {
        assert_eq!(
            foreign(ready(Err(Foreign::Missing))).await,
            Err(Foreign::Missing)
        );
    }
    assert_eq!(window(breaker), (0, 0, 0), "ignored");
    let spent = Deadline::after(Duration::ZERO)
        .scope(foreign(ready(Ok(()))))
        .await;
    assert_eq!(spent, Err(Foreign::Rejected(Reason::DeadlineExceeded)));
    assert_eq!(window(breaker), (0, 0, 0), "rejections are not asked about");
    assert_eq!(
        foreign(pending()).await,
        Err(Foreign::Rejected(Reason::DeadlineExceeded))
    );
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(
        foreign(ready(Ok(()))).await,
        Err(Foreign::Rejected(Reason::BreakerOpen))
    );

    assert_eq!(
        Deadline::after(ms(20)).scope(no_result(pending())).await,
        504
    );
    assert_eq!(Deadline::after(ms(5)).scope(no_result(ready(1))).await, 503);
    assert_eq!(
        no_result(ready(1)).await,
        1,
        "neither of the two was a failure"
    );
    assert_eq!(no_result(pending()).await, 504, "this one was");
    assert_eq!(no_result(ready(1)).await, 503);
}

#[tokio::test(start_paused = true)]
async fn a_classify_that_panics_is_a_panic_of_the_call() {
    fn panics(_: &Result<(), Failed>) -> Verdict {
        std::panic::panic_any(ON_PURPOSE.to_owned())
    }
    #[bulkhead(name = "shapes-classify", max = 1, timeout = 50ms, breaker(consecutive = 1), classify = panics)]
    async fn judged() -> Result<(), Failed> {
        Ok(())
    }
    panics_on_purpose_are_silent();
    let partition = find("shapes-classify");
    tokio::spawn(judged()).await.expect_err("it panics");
    assert_eq!(partition.snapshot().outcomes.panicked, 1);
    assert_eq!(of(partition, "::judged").state(), BreakerState::Open);
    assert!(
        matches!(poll_once(std::pin::pin!(judged())), Poll::Ready(Err(_))),
        "open"
    );
}

#[bulkhead(name = "shapes-shared-name", max = 1, timeout = 50ms, breaker(consecutive = 1))]
async fn one_of_the_name(body: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    body.await
}

#[bulkhead(name = "shapes-shared-name", max = 1, timeout = 50ms, breaker(consecutive = 1))]
async fn other_of_the_name(body: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    body.await
}

#[bulkhead(name = "shapes-shared-name", max = 1)]
async fn third_of_the_name(body: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    body.await
}

#[tokio::test(start_paused = true)]
async fn functions_of_one_name_share_its_permits_and_not_their_breakers() {
    let shared = find("shapes-shared-name");
    assert_eq!(shared.breakers().count(), 2);
    one_of_the_name(pending()).await.expect_err("it hangs");
    let open = one_of_the_name(ready(Ok(()))).await;
    assert_eq!(open.expect_err("it is open").reason(), Reason::BreakerOpen);
    other_of_the_name(ready(Ok(())))
        .await
        .expect("its own is closed");
    third_of_the_name(ready(Ok(()))).await.expect("it has none");
    let held = shared.try_enter().expect("it is free");
    for call in [
        other_of_the_name(ready(Ok(()))).await,
        third_of_the_name(ready(Ok(()))).await,
    ] {
        assert_eq!(call.expect_err("one permit for all").reason(), Reason::Full);
    }
    drop(held);
    assert_idle(shared);
}
