//! What the load must have shown, with margins that hold on a busy machine.

use std::time::Duration;

use axum::http::StatusCode;
use bulkhead_runtime::Snapshot;

use crate::Phases;
use crate::load::{Answers, CHECKOUT, LOGIN};
use crate::report::route;

/// Longer than any rejection takes, and far shorter than the two seconds of a hanging call.
const AT_ONCE: Duration = Duration::from_millis(500);

pub(crate) fn check(without: &Phases, with: &Phases) {
    for phase in [&without.calm, &with.calm] {
        for answers in phase {
            let ok = answers.with(StatusCode::OK);
            assert!(
                ok * 4 >= answers.requests() * 3,
                "a calm shop answers at least three quarters with 200: {ok} of {answers:?}"
            );
        }
    }
    check_login(route(&without.slow, LOGIN), route(&with.slow, LOGIN));
    check_checkout(route(&without.slow, CHECKOUT), route(&with.slow, CHECKOUT));
}

/// A route that asks nobody must not suffer from a partner.
fn check_login(without: &Answers, with: &Answers) {
    let [suffering, spared] = [without, with].map(|login| login.percentile(99));
    assert!(
        suffering >= 5 * spared,
        "99 in 100 logins: {suffering:?} without the attribute, {spared:?} with it"
    );
    assert_eq!(
        with.with(StatusCode::OK),
        with.requests(),
        "every login answers 200 with the attribute"
    );
}

/// A route that needs the partner cannot work, but it can say so at once.
fn check_checkout(without: &Answers, with: &Answers) {
    let rejected = with.with(StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        rejected * 2 > with.requests(),
        "most checkouts are rejected: {rejected} of {}",
        with.requests()
    );
    let at_once = with.percentile_with(StatusCode::SERVICE_UNAVAILABLE, 90);
    assert!(
        at_once < AT_ONCE,
        "a rejection comes at once: 90 in 100 within {at_once:?}"
    );
    let [hanging, failing] = [without, with].map(|checkout| checkout.percentile(50));
    assert!(
        hanging >= 5 * failing,
        "half of the checkouts: {hanging:?} without the attribute, {failing:?} with it"
    );
}

/// The partitions must have counted what the users saw, and have all their permits back.
pub(crate) fn check_counts(with: &Phases, snapshots: &[Snapshot]) {
    let answers = || with.calm.iter().chain(&with.slow);
    let seen: usize = answers()
        .map(|answers| answers.with(StatusCode::SERVICE_UNAVAILABLE))
        .sum();
    let unseen: usize = answers().map(Answers::other).sum();
    let counted: u64 = snapshots
        .iter()
        .map(|snapshot| snapshot.rejected.total())
        .sum();
    let counted = usize::try_from(counted).expect("a few hundred");
    // A user who gives up at the very moment of a rejection does not see it.
    assert!(
        (seen..=seen + unseen).contains(&counted),
        "{counted} rejections counted, {seen} seen by users"
    );
    for snapshot in snapshots {
        let name = snapshot.name;
        assert_eq!(
            snapshot.headroom, snapshot.max,
            "`{name}` has all its permits back"
        );
    }
}
