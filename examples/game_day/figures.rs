//! From what was seen to what is said of it: one set of figures a phase, and the verdict on the whole day.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use axum::http::StatusCode;

use crate::day::{Phase, Run, Span};
use crate::partner::{Entry, Ledger};
use crate::samples::Sample;
use crate::users::{CHECKOUTS_PER_SECOND, Ending, Route, Visit};

/// What one route answered in one phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    visits: Vec<Visit>,
}

impl Answers {
    fn of(run: &Run, span: &Span, route: Route) -> Self {
        let visits = run.visits.iter();
        let visits = visits.filter(|visit| visit.route == route && visit.belongs_to(&span.range()));
        let mut visits: Vec<Visit> = visits.copied().collect();
        visits.sort_by_key(|visit| visit.took);
        Self { visits }
    }

    pub(crate) fn all(&self) -> usize {
        self.visits.len()
    }

    pub(crate) fn with(&self, status: StatusCode) -> usize {
        self.count(Ending::Answered(status))
    }

    pub(crate) fn count(&self, ending: Ending) -> usize {
        let visits = self.visits.iter();
        visits.filter(|visit| visit.ending == ending).count()
    }

    /// The time within which so many percent had their answer or left, from when they were due.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        percentile(self.visits.iter().map(|visit| visit.took), percent)
    }
}

/// Of times in order, the smallest that is not exceeded by `percent` of them; zero if there are none.
pub(crate) fn percentile(
    times: impl ExactSizeIterator<Item = Duration>,
    percent: usize,
) -> Duration {
    let rank = (times.len() * percent).div_ceil(100).saturating_sub(1);
    let mut times = times;
    times.nth(rank).unwrap_or_default()
}

/// One phase in figures.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    pub(crate) phase: Phase,
    pub(crate) stock: Answers,
    pub(crate) checkout: Answers,
    pub(crate) payment_attempts: f64,
    pub(crate) shipping_attempts: f64,
    /// The highest of what was sampled.
    pub(crate) inside: u64,
    pub(crate) at_door: u64,
    pub(crate) in_flight: u64,
    pub(crate) waiting: u64,
    pub(crate) heap: u64,
}

impl Figures {
    pub(crate) fn of(run: &Run) -> Vec<Self> {
        run.spans
            .iter()
            .map(|span| Self::in_span(run, span))
            .collect()
    }

    fn in_span(run: &Run, span: &Span) -> Self {
        let within: Vec<&Sample> = run
            .samples
            .iter()
            .filter(|sample| span.has(sample.at))
            .collect();
        let highest = |of: fn(&Sample) -> u64| within.iter().map(|sample| of(sample)).max();
        let highest = |of| highest(of).unwrap_or_default();
        Self {
            phase: span.phase,
            stock: Answers::of(run, span, Route::Stock),
            checkout: Answers::of(run, span, Route::Checkout),
            payment_attempts: attempts_per_call(run, &run.payment, &span.range()).unwrap_or(1.0),
            shipping_attempts: attempts_per_call(run, &run.shipping, &span.range()).unwrap_or(1.0),
            inside: highest(|sample| sample.inside),
            at_door: highest(|sample| sample.at_door),
            in_flight: highest(Sample::in_flight),
            waiting: highest(Sample::waiting),
            heap: highest(|sample| sample.heap),
        }
    }
}

/// Of the calls whose first attempt was in that time, if there were any.
pub(crate) fn attempts_per_call(run: &Run, ledger: &Ledger, time: &Range<Duration>) -> Option<f64> {
    let (mut calls, mut attempts) = (0, 0);
    for (_, entry) in ledger.entries() {
        let first = entry.attempts.first();
        if first.is_some_and(|first| time.contains(&(*first - run.begin))) {
            calls += 1;
            attempts += entry.attempts.len();
        }
    }
    (calls > 0).then(|| count(attempts) / count(calls))
}

/// A count of this example, which is far from where a float grows coarse.
pub(crate) fn count(count: impl TryInto<u32>) -> f64 {
    count.try_into().map_or(f64::INFINITY, f64::from)
}

/// What the partner, the service and the users say of the same charges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Charges {
    /// Orders that the partner has charged.
    pub(crate) charged: usize,
    /// More than once.
    pub(crate) twice: usize,
    /// And neither does the service know of it, nor was the user told.
    pub(crate) orphaned: usize,
    /// Charges of which the service knows, and whose users had left or had been told to come back.
    pub(crate) settled: usize,
}

impl Charges {
    pub(crate) fn of(run: &Run) -> Self {
        let books = run.end.last_words["books"].as_array().into_iter().flatten();
        let books: HashSet<u64> = books.filter_map(serde_json::Value::as_u64).collect();
        let confirmed: HashSet<u64> = run
            .visits
            .iter()
            .filter(|visit| visit.route == Route::Checkout && visit.is_answered(StatusCode::OK))
            .map(|visit| visit.order)
            .collect();
        let known = |order| books.contains(&order) || confirmed.contains(&order);
        let orders = |is_meant: fn(&Entry) -> bool| {
            let entries = run.payment.entries();
            entries.filter(move |(_, entry)| is_meant(entry))
        };
        let charged = || orders(|entry| entry.charges > 0);
        Self {
            charged: charged().count(),
            twice: orders(|entry| entry.charges > 1).count(),
            orphaned: charged().filter(|(order, _)| !known(*order)).count(),
            settled: books.difference(&confirmed).count(),
        }
    }
}

/// How the service came back after payment had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comeback {
    /// From when on nine in ten checkouts were served in time, for a whole second; none if they never were.
    pub(crate) after: Option<Duration>,
    /// The most attempts that payment saw in one second, for each checkout that came in that time.
    pub(crate) storm: f64,
}

impl Comeback {
    pub(crate) fn of(run: &Run) -> Self {
        let recovery = run.span(Phase::Recovery);
        Self {
            after: came_back(run, recovery),
            storm: storm(run, recovery),
        }
    }
}

const STEP: Duration = Duration::from_millis(250);
const STEPS_OF_A_SECOND: usize = 4;
const SECOND: Duration = Duration::from_secs(1);

fn came_back(run: &Run, recovery: &Span) -> Option<Duration> {
    let is_good = |step: &Range<Duration>| {
        let visits = run.visits.iter();
        let checkouts: Vec<&Visit> = visits
            .filter(|visit| visit.route == Route::Checkout && visit.belongs_to(step))
            .collect();
        let served = checkouts.iter().filter(|visit| visit.is_served_in_time());
        served.count() * 10 >= checkouts.len() * 9
    };
    let steps: Vec<bool> = windows(recovery, STEP).map(|step| is_good(&step)).collect();
    let mut seconds = steps.windows(STEPS_OF_A_SECOND);
    let first = seconds.position(|steps| steps.iter().all(|is_good| *is_good))?;
    Some(STEP * u32::try_from(first).ok()?)
}

fn storm(run: &Run, recovery: &Span) -> f64 {
    let attempts = run.payment.entries().flat_map(|(_, entry)| &entry.attempts);
    let attempts: Vec<Duration> = attempts.map(|attempt| *attempt - run.begin).collect();
    let in_window = |window: Range<Duration>| {
        let attempts = attempts.iter();
        attempts.filter(|attempt| window.contains(*attempt)).count()
    };
    let most = windows(recovery, SECOND).map(in_window).max();
    count(most.unwrap_or_default()) / f64::from(CHECKOUTS_PER_SECOND)
}

/// The span in pieces.
fn windows(span: &Span, length: Duration) -> impl Iterator<Item = Range<Duration>> {
    let from = span.from;
    let pieces = span.to.saturating_sub(from).as_millis() / length.as_millis();
    let pieces = u32::try_from(pieces).expect("a day is short");
    (0..pieces).map(move |piece| from + piece * length..from + (piece + 1) * length)
}
