//! What is printed.

use std::fmt;
use std::time::Duration;

use axum::http::StatusCode;

use crate::claims::{Claim, Day};
use crate::day::{Phase, Run};
use crate::figures::{Answers, Charges, Comeback, Figures};
use crate::partner::PAYMENT_SLOW;
use crate::service::{Arrangement, ROOM};
use crate::users::{Ending, LITTLE_PATIENCE, PATIENCE, PER_SECOND};

pub(crate) fn introduction() {
    println!(
        "{PER_SECOND} requests a second, whatever the answers are: a third for /stock, which asks no partner, the\n\
         others for /checkout, which asks shipping and payment. The service has room for {ROOM} at once; all takes\n\
         100 ms. Users leave after {}, and one checkout in ten after {}. Then payment goes to {}, and\n\
         shipping refuses half of what it is asked.",
        Time(PATIENCE),
        Time(LITTLE_PATIENCE),
        Time(PAYMENT_SLOW)
    );
}

pub(crate) fn heading(arrangement: Arrangement) {
    let title = match arrangement {
        Arrangement::Naive => "Without the contract: timeouts, and three attempts at two levels",
        Arrangement::Contract => {
            "With the contract: #[bulkhead] on the two functions that call a partner"
        }
    };
    println!("\n{title}");
}

pub(crate) fn phases(figures: &[Figures]) {
    println!(
        "  {:<10}{:<11}{:>9}{:>7}{:>7}{:>7}{:>7}{:>7}{:>10}{:>10}",
        "phase", "route", "requests", "200", "202", "503", "other", "left", "p50", "p99"
    );
    for figures in figures {
        answers(name(figures.phase), "/stock", &figures.stock);
        answers("", "/checkout", &figures.checkout);
    }
    println!(
        "\n  {:<10}{:>20}{:>20}{:>20}",
        "", "attempts a call", "requests", "partitions"
    );
    println!(
        "  {:<10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>11}",
        "phase", "payment", "shipping", "inside", "at door", "in flight", "waiting", "heap"
    );
    for figures in figures {
        println!(
            "  {:<10}{:>10.2}{:>10.2}{:>10}{:>10}{:>10}{:>10}{:>11}",
            name(figures.phase),
            figures.payment_attempts,
            figures.shipping_attempts,
            figures.inside,
            figures.at_door,
            figures.in_flight,
            figures.waiting,
            Bytes(figures.heap).to_string(),
        );
    }
}

fn answers(phase: &str, route: &str, answers: &Answers) {
    let [ok, accepted, unavailable] = [
        StatusCode::OK,
        StatusCode::ACCEPTED,
        StatusCode::SERVICE_UNAVAILABLE,
    ]
    .map(|status| answers.with(status));
    let left = answers.count(Ending::Left);
    let other = answers.all() - ok - accepted - unavailable - left;
    println!(
        "  {phase:<10}{route:<11}{:>9}{ok:>7}{accepted:>7}{unavailable:>7}{other:>7}{left:>7}{:>10}{:>10}",
        answers.all(),
        Time(answers.percentile(50)).to_string(),
        Time(answers.percentile(99)).to_string(),
    );
}

pub(crate) fn day(run: &Run) {
    let Charges {
        charged,
        twice,
        orphaned,
        settled,
    } = Charges::of(run);
    println!(
        "\n  {charged} orders charged, {twice} of them more than once; {orphaned} orphaned: neither does the service \
         know of it, nor\n  the user. {settled} charges ended after their users had left or were told to come back."
    );
    let Comeback { after, storm } = Comeback::of(run);
    match after {
        Some(after) => print!("  Back {} after payment was", Time(after)),
        None => print!("  Not back when the phase ended"),
    }
    println!(", at {storm:.2} requests to payment for each checkout at the most.");
    for line in &run.end.said {
        println!("  | {line}");
    }
    println!("  The process ended: {}.", run.end.status);
}

pub(crate) fn claims(claims: &[Claim], naive: &Day, contract: &Day) {
    println!(
        "\n{:<76}{:>9}{:>9}{:>9}",
        "What is claimed", "without", "with", "at most"
    );
    for Claim {
        what, at_most, of, ..
    } in claims
    {
        let [without, with, at_most] = [of(naive), of(contract), *at_most].map(Figure);
        println!("  {what:<74}{without:>9}{with:>9}{at_most:>9}");
    }
    println!(
        "Without the contract the service is back sooner: it has never stopped asking. That is what payment saw."
    );
}

pub(crate) const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Calm => "calm",
        Phase::Slow => "slow",
        Phase::Recovery => "recovery",
        Phase::Sigterm => "SIGTERM",
    }
}

/// Three digits and a unit.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_secs_f64() * 1e3;
        match millis {
            ..1000.0 => write!(f, "{millis:.0} ms"),
            _ if self.0.subsec_nanos() == 0 => write!(f, "{} s", self.0.as_secs()),
            _ => write!(f, "{:.2} s", millis / 1e3),
        }
    }
}

/// Whole, or with two places.
struct Figure(f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = if self.0.fract().abs() < 0.005 { 0 } else { 2 };
        f.pad(&format!("{:.places$}", self.0))
    }
}

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MB", mega(self.0))
    }
}

/// Whole kilobytes are fine enough.
pub(crate) fn mega(bytes: u64) -> f64 {
    crate::figures::count(bytes / 1000) / 1e3
}
