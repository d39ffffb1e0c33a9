//! What the day must have shown.

use std::time::Duration;

use axum::http::StatusCode;

use crate::day::{Phase, Run};
use crate::figures::{Charges, Comeback, Figures};
use crate::samples::Gauge;
use crate::service::{PAYMENT, SHIPPING};
use crate::users::{Ending, Visit};

/// By so much the critical route may be later than on a calm day: two busy cores also run the users and the
/// partners, and something else perhaps. Without the contract, it is later by more than a second.
const SLACK: Duration = Duration::from_millis(250);
/// Buffers of three connections, most of it.
const HEAP_OF_A_REQUEST: u64 = 64 << 10;
/// A retry for every fifth call, and no more.
const ATTEMPTS: f64 = 1.2;
/// A probe that was sent just before payment recovered takes 3 s. Then there is a cool-down of at most 600 ms, and
/// another one if the next probe is one of those that are refused on every day.
const BACK_WITHIN: Duration = Duration::from_secs(5);

/// That there was something to be kept from: else the other claims would hold for nothing.
pub(crate) fn check_naive(run: &Run, figures: &[Figures]) {
    let calm = in_phase(figures, Phase::Calm);
    let slow = in_phase(figures, Phase::Slow);
    let [before, during] = [calm, slow].map(|phase| phase.stock.percentile(99));
    assert!(
        during > before + 2 * SLACK,
        "without the contract, /stock suffers: {before:?} calm, {during:?} slow"
    );
    assert!(
        slow.payment_attempts > 1.5,
        "it asks payment again and again: {:.2} attempts a call",
        slow.payment_attempts
    );
    let envelope = heap_envelope(figures);
    assert!(
        slow.heap > envelope,
        "it fills the heap: {} bytes, and {envelope} would do",
        slow.heap
    );
    let charges = Charges::of(run);
    assert!(
        charges.twice > 0 && charges.orphaned > 0,
        "it charges twice, and does not know of it: {charges:?}"
    );
}

pub(crate) fn check_contract(run: &Run, figures: &[Figures]) {
    check_critical_route(figures);
    check_envelope(run, figures);
    check_attempts(figures);
    check_charges(run);
    check_comeback(run);
    check_end(run);
}

fn check_critical_route(figures: &[Figures]) {
    let calm = in_phase(figures, Phase::Calm).stock.percentile(99);
    for figures in figures {
        let stock = &figures.stock;
        let p99 = stock.percentile(99);
        assert!(
            p99 <= calm + SLACK,
            "/stock keeps its p99: {calm:?} calm, {p99:?} in {:?}",
            figures.phase
        );
        assert_eq!(
            stock.with(StatusCode::OK),
            stock.all(),
            "every /stock answers 200 in {:?}",
            figures.phase
        );
    }
}

fn check_envelope(run: &Run, figures: &[Figures]) {
    for (name, partition) in [("payment", &PAYMENT), ("shipping", &SHIPPING)] {
        let highest = Gauge::of(&run.end.last_words[name]);
        let policy = partition.policy();
        assert!(
            highest.in_flight <= policy.max().into() && highest.waiting <= policy.queue().into(),
            "`{name}` stays within its policy: {highest:?}"
        );
    }
    assert!(
        run.most_at_payment <= PAYMENT.policy().max(),
        "payment has never seen more requests at once than there are permits: {}",
        run.most_at_payment
    );
    let envelope = heap_envelope(figures);
    for figures in figures {
        assert!(
            figures.heap <= envelope,
            "the heap stays within {envelope} bytes: {} in {:?}",
            figures.heap,
            figures.phase
        );
    }
}

/// What is allocated when calm, and the work that both partitions let in on top of it.
fn heap_envelope(figures: &[Figures]) -> u64 {
    let policies = [PAYMENT.policy(), SHIPPING.policy()];
    let calls = policies.map(|policy| u64::from(policy.max() + policy.queue()));
    in_phase(figures, Phase::Calm).heap + calls.iter().sum::<u64>() * HEAP_OF_A_REQUEST
}

fn check_attempts(figures: &[Figures]) {
    for figures in figures {
        let attempts = figures.payment_attempts.max(figures.shipping_attempts);
        assert!(
            attempts <= ATTEMPTS,
            "{attempts:.3} attempts a call in {:?}",
            figures.phase
        );
    }
}

fn check_charges(run: &Run) {
    let charges = Charges::of(run);
    assert_eq!(charges.twice, 0, "no order is charged twice");
    assert_eq!(charges.orphaned, 0, "no charge is orphaned");
    assert!(
        charges.settled > 0,
        "and there were users who left during one"
    );
}

fn check_comeback(run: &Run) {
    let Comeback { after, storm } = Comeback::of(run);
    assert!(
        after.is_some_and(|after| after <= BACK_WITHIN),
        "back {after:?} after payment, with no restart"
    );
    assert!(
        storm <= ATTEMPTS,
        "payment is not stormed when it is back: {storm:.2} requests a checkout"
    );
}

fn check_end(run: &Run) {
    let lost: Vec<&Visit> = run
        .visits
        .iter()
        .filter(|visit| visit.ending == Ending::Lost)
        .collect();
    assert!(
        lost.is_empty(),
        "everybody who was accepted has an answer: {lost:?}"
    );
    assert!(
        run.end.status.success(),
        "the service has ended well: {}",
        run.end.status
    );
}

fn in_phase(figures: &[Figures], phase: Phase) -> &Figures {
    let found = figures.iter().find(|figures| figures.phase == phase);
    found.expect("every day has this phase")
}
