//! What is drawn: each curve as points of seconds and a value.

use std::time::Duration;

use axum::http::StatusCode;

use crate::day::Run;
use crate::figures::{attempts_per_call, count, percentile};
use crate::samples::Sample;
use crate::service::Arrangement;
use crate::table::mega;
use crate::users::{Route, Visit};

const STEP: Duration = Duration::from_millis(200);
/// What a rate and a percentile are taken over, up to the moment where they are drawn.
const WINDOW: Duration = Duration::from_millis(500);
const LONG_WINDOW: Duration = Duration::from_secs(1);

pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    /// A point on a level line between its neighbours tells nothing, and is left out.
    fn new(name: &'static str, points: impl Iterator<Item = (Duration, f64)>) -> Self {
        let mut kept: Vec<(f64, f64)> = Vec::new();
        for (moment, value) in points {
            let point = (moment.as_secs_f64(), value);
            let is_level = |(_, other): &(f64, f64)| value.total_cmp(other).is_eq();
            if kept.len() > 1 && kept.iter().rev().take(2).all(is_level) {
                kept.pop();
            }
            kept.push(point);
        }
        Self { name, points: kept }
    }
}

/// One scale with its curves.
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) curves: fn(&Run) -> Vec<Curve>,
}

pub(crate) const PANELS: [Panel; 5] = [
    Panel {
        title: "Answers a second",
        unit: "answers / s",
        curves: answers,
    },
    Panel {
        title: "p99 of /stock, which asks no partner",
        unit: "ms",
        curves: critical_route,
    },
    Panel {
        title: "Requests, and calls of partners",
        unit: "at once",
        curves: load,
    },
    Panel {
        title: "Heap of the service",
        unit: "MB",
        curves: heap,
    },
    Panel {
        title: "Attempts a call, as the partners see them",
        unit: "attempts / call",
        curves: attempts,
    },
];

fn answers(run: &Run) -> Vec<Curve> {
    let is_rejected = |visit: &Visit| visit.is_answered(StatusCode::SERVICE_UNAVAILABLE);
    vec![
        rate("served", run, Visit::is_served),
        rate("rejected (503)", run, is_rejected),
        rate("failed or left", run, move |visit| {
            !visit.is_served() && !is_rejected(visit)
        }),
    ]
}

/// By when the answer came.
fn rate(name: &'static str, run: &Run, is_meant: impl Fn(&Visit) -> bool) -> Curve {
    let visits = run.visits.iter().filter(|visit| is_meant(visit));
    let mut ends: Vec<Duration> = visits.map(|visit| visit.due + visit.took).collect();
    ends.sort();
    let ended_by = |moment| ends.partition_point(|end| *end <= moment);
    let points = moments(run).map(|moment| {
        let ended = ended_by(moment) - ended_by(moment.saturating_sub(WINDOW));
        let window = WINDOW.min(moment);
        (moment, count(ended) / window.as_secs_f64())
    });
    Curve::new(name, points)
}

/// By when it was due.
fn critical_route(run: &Run) -> Vec<Curve> {
    let visits = || {
        run.visits
            .iter()
            .filter(|visit| visit.route == Route::Stock)
    };
    let points = moments(run).filter_map(|moment| {
        let window = moment.saturating_sub(LONG_WINDOW)..moment;
        let due = visits().filter(|visit| window.contains(&visit.due));
        let mut times: Vec<Duration> = due.map(|visit| visit.took).collect();
        times.sort();
        let is_empty = times.is_empty();
        let p99 = percentile(times.into_iter(), 99);
        (!is_empty).then(|| (moment, (p99.as_secs_f64() * 1e3).round()))
    });
    vec![Curve::new("over one second", points)]
}

fn load(run: &Run) -> Vec<Curve> {
    let mut curves = vec![
        sampled("in the service", run, |sample| sample.inside),
        sampled("at its door", run, |sample| sample.at_door),
    ];
    if run.arrangement == Arrangement::Contract {
        curves.extend([
            sampled("partitions: in flight", run, Sample::in_flight),
            sampled("waiting", run, Sample::waiting),
        ]);
    }
    curves
}

fn heap(run: &Run) -> Vec<Curve> {
    let samples = run.samples.iter();
    let points = samples.map(|sample| (sample.at, mega(sample.heap)));
    vec![Curve::new("allocated", points)]
}

fn attempts(run: &Run) -> Vec<Curve> {
    let of = |name, ledger| {
        let points = moments(run).filter_map(|moment| {
            let window = moment.saturating_sub(LONG_WINDOW)..moment;
            Some((moment, attempts_per_call(run, ledger, &window)?))
        });
        Curve::new(name, points)
    };
    vec![of("payment", &run.payment), of("shipping", &run.shipping)]
}

fn sampled(name: &'static str, run: &Run, of: fn(&Sample) -> u64) -> Curve {
    let samples = run.samples.iter();
    Curve::new(name, samples.map(|sample| (sample.at, count(of(sample)))))
}

/// The moments for which there is something to say.
fn moments(run: &Run) -> impl Iterator<Item = Duration> {
    let end = run.spans.last().map_or(Duration::ZERO, |span| span.to);
    std::iter::successors(Some(STEP), |moment| Some(*moment + STEP))
        .take_while(move |moment| *moment <= end)
}
