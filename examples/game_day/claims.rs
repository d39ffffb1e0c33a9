//! What the day must have shown. A claim is a figure and the most that it may be; beside it stands what comes of it
//! without the contract.

use std::time::Duration;

use axum::http::StatusCode;

use crate::day::{Phase, Run};
use crate::figures::{Charges, Comeback, Figures, count};
use crate::samples::Gauge;
use crate::service::{PAYMENT, SHIPPING};
use crate::table::mega;
use crate::users::Ending;

/// Buffers of three connections, most of it.
const HEAP_OF_A_CALL: u64 = 64 << 10;

/// One arrangement: what was seen, and the figures of each phase.
pub(crate) struct Day {
    pub(crate) run: Run,
    pub(crate) figures: Vec<Figures>,
}

pub(crate) struct Claim {
    pub(crate) what: &'static str,
    pub(crate) at_most: f64,
    pub(crate) of: fn(&Day) -> f64,
    /// Whether it breaks without the contract: one that never does, here, would say nothing about it.
    is_broken_without: bool,
}

pub(crate) fn claims() -> Vec<Claim> {
    let policies = [PAYMENT.policy(), SHIPPING.policy()];
    let permits = policies.map(|policy| u64::from(policy.max()));
    let places = policies.map(|policy| u64::from(policy.queue()));
    let calls: u64 = permits.iter().chain(&places).sum();
    vec![
        // Two busy cores also run the users and the partners, and perhaps something else.
        breaks(
            "ms by which the p99 of /stock rises, at the worst",
            250.0,
            critical_route,
        ),
        breaks(
            "attempts a call, of the worse partner in the worst phase",
            1.2,
            attempts,
        ),
        // Those that a stall of the machine has held up come in the next second.
        breaks(
            "requests to payment for a checkout, in the worst second after it is back",
            1.5,
            storm,
        ),
        breaks(
            "requests that payment has at once",
            count(permits[0]),
            at_payment,
        ),
        breaks(
            "requests that wait, in a queue or at the door",
            count(places.iter().sum::<u64>()),
            waiting,
        ),
        breaks(
            "MB of heap more than when calm",
            mega(calls * HEAP_OF_A_CALL),
            heap,
        ),
        breaks("orders charged twice", 0.0, |day| {
            count(Charges::of(&day.run).twice)
        }),
        breaks("charges of which nobody knows", 0.0, |day| {
            count(Charges::of(&day.run).orphaned)
        }),
        holds(
            "calls beyond the policy of their partition",
            0.0,
            beyond_policy,
        ),
        // A probe that was sent just before payment was back takes 3 s. Then there is a cool-down of at most 600 ms, and
        // one more if the next probe is one of those that are refused on every day.
        holds(
            "seconds after payment until the service is back",
            5.0,
            comeback,
        ),
        holds("requests to /stock without a 200", 0.0, stock_unanswered),
        holds("requests that were accepted and never answered", 0.0, lost),
    ]
}

const fn breaks(what: &'static str, at_most: f64, of: fn(&Day) -> f64) -> Claim {
    Claim {
        what,
        at_most,
        of,
        is_broken_without: true,
    }
}

const fn holds(what: &'static str, at_most: f64, of: fn(&Day) -> f64) -> Claim {
    Claim {
        is_broken_without: false,
        ..breaks(what, at_most, of)
    }
}

pub(crate) fn check(claims: &[Claim], naive: &Day, contract: &Day) {
    for claim in claims {
        let Claim { what, at_most, .. } = claim;
        let [without, with] = [naive, contract].map(claim.of);
        assert!(
            with <= *at_most,
            "{what}: {with} with the contract, {at_most} at most"
        );
        assert!(
            without > *at_most || !claim.is_broken_without,
            "{what}: {without} without the contract, which shows nothing: {at_most} is no problem"
        );
    }
    let settled = Charges::of(&contract.run).settled;
    assert!(settled > 0, "users have left during a charge");
    let status = contract.run.end.status;
    assert!(
        status.success(),
        "the service ends well, and that is not: {status}"
    );
}

impl Day {
    fn calm(&self) -> &Figures {
        let mut figures = self.figures.iter();
        let calm = figures.find(|figures| figures.phase == Phase::Calm);
        calm.expect("every day begins so")
    }

    fn worst(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        self.figures.iter().map(of).fold(0.0, f64::max)
    }
}

fn critical_route(day: &Day) -> f64 {
    let p99 = |figures: &Figures| figures.stock.percentile(99);
    let calm = p99(day.calm());
    let worst = day.figures.iter().map(p99).max();
    let later = worst.map_or(Duration::ZERO, |worst| worst.saturating_sub(calm));
    (later.as_secs_f64() * 1e3).round()
}

fn attempts(day: &Day) -> f64 {
    day.worst(|figures| figures.payment_attempts.max(figures.shipping_attempts))
}

fn storm(day: &Day) -> f64 {
    Comeback::of(&day.run).storm
}

fn at_payment(day: &Day) -> f64 {
    day.run.most_at_payment.into()
}

fn waiting(day: &Day) -> f64 {
    day.worst(|figures| count(figures.at_door + figures.waiting))
}

fn heap(day: &Day) -> f64 {
    day.worst(|figures| mega(figures.heap)) - mega(day.calm().heap)
}

/// By the partitions' own marks, which miss nothing.
fn beyond_policy(day: &Day) -> f64 {
    let beyond = [("payment", &PAYMENT), ("shipping", &SHIPPING)].map(|(name, partition)| {
        let highest = Gauge::of(&day.run.end.last_words[name]);
        let policy = partition.policy();
        let in_flight = highest.in_flight.saturating_sub(policy.max().into());
        in_flight + highest.waiting.saturating_sub(policy.queue().into())
    });
    count(beyond.iter().sum::<u64>())
}

fn comeback(day: &Day) -> f64 {
    let after = Comeback::of(&day.run).after;
    after.map_or(f64::INFINITY, |after| after.as_secs_f64())
}

fn stock_unanswered(day: &Day) -> f64 {
    day.worst(|figures| count(figures.stock.all() - figures.stock.with(StatusCode::OK)))
}

fn lost(day: &Day) -> f64 {
    let visits = day.run.visits.iter();
    count(visits.filter(|visit| visit.ending == Ending::Lost).count())
}
