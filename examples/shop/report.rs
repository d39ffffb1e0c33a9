//! What is printed.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use axum::http::StatusCode;
use bulkhead_runtime::Snapshot;

use crate::load::{Answers, LOGIN, PATIENCE, ROUTES};
use crate::partners::{QUICK, Running, SLOW};
use crate::service::ROOM;

pub(crate) fn introduction() {
    let load: u32 = ROUTES.iter().map(|route| route.per_second).sum();
    println!(
        "A shop with room for {ROOM} requests at once. /checkout and /shipping-quote ask a shipping\n\
         partner; /login asks nobody. {load} requests a second arrive, whatever the answers are, and\n\
         users give up after {}. Then shipping goes from {} to {}.",
        Time(PATIENCE),
        Time(QUICK),
        Time(SLOW)
    );
}

pub(crate) fn heading(arrangement: &str) {
    println!();
    println!("{arrangement}");
    println!(
        "  {:<16}{:<17}{:>8}{:>7}{:>7}{:>7}{:>8}{:>10}{:>10}",
        "phase", "route", "requests", "200", "503", "504", "other", "p50", "p99"
    );
}

pub(crate) fn rows(phase: &str, routes: &[Answers]) {
    let phases = std::iter::once(phase).chain(std::iter::repeat(""));
    for (phase, answers) in phases.zip(routes) {
        println!(
            "  {:<16}{:<17}{:>8}{:>7}{:>7}{:>7}{:>8}{:>10}{:>10}",
            phase,
            answers.path,
            answers.requests(),
            answers.with(StatusCode::OK),
            answers.with(StatusCode::SERVICE_UNAVAILABLE),
            answers.with(StatusCode::GATEWAY_TIMEOUT),
            answers.other(),
            Time(answers.percentile(50)).to_string(),
            Time(answers.percentile(99)).to_string(),
        );
    }
}

pub(crate) fn partitions(snapshots: &[Snapshot]) {
    println!();
    println!("What the partitions counted meanwhile");
    println!(
        "  {:<16}{:>4}{:>7}{:>10}{:>10}{:>11}{:>14}",
        "partition", "max", "queue", "admitted", "rejected", "timed out", "permits back"
    );
    for snapshot in snapshots {
        println!(
            "  {:<16}{:>4}{:>7}{:>10}{:>10}{:>11}{:>14}",
            snapshot.name,
            snapshot.max,
            snapshot.queue,
            snapshot.admitted,
            snapshot.rejected.total(),
            snapshot.outcomes.timed_out,
            snapshot.headroom,
        );
    }
}

/// Why a route that asks nobody is slow.
pub(crate) fn unguarded_note() {
    println!(
        "  other: no answer within {}. {ROOM} hanging requests fill the shop; everybody else waits at\n\
         \x20 the door until one of them gives up.",
        Time(PATIENCE)
    );
}

/// What the attribute did.
pub(crate) fn guarded_note() {
    println!(
        "  503: no permit in time, the partner was not called. 504: called, no answer within `timeout`.\n\
         \x20 At most 15 requests wait for shipping; the rest of the shop is free."
    );
}

/// What happened to the route that asks nobody.
pub(crate) fn conclusion(without: &[Answers], with: &[Answers]) {
    let [before, after] = [without, with].map(|routes| Time(route(routes, LOGIN).percentile(50)));
    println!(
        "\nWhile shipping hung, the typical login took {before} without the attribute and {after} with\n\
         it, although /login never asks shipping."
    );
}

pub(crate) fn route<'a>(routes: &'a [Answers], path: &str) -> &'a Answers {
    routes
        .iter()
        .find(|answers| answers.path == path)
        .expect("every phase asks every route")
}

pub(crate) fn lines_to_try(shop: SocketAddr, partners: &Running) {
    let shipping = partners.shipping();
    let [quick, slow] = [QUICK, SLOW].map(|delay| delay.as_millis());
    let process = std::process::id();
    let timing = r"%{http_code} after %{time_total} s\n";
    println!(
        r"The shop listens on http://{shop}; ctrl-C or `kill` ends it, in order. In another terminal:

  curl -i -X POST http://{shop}/login
  curl -i -X POST http://{shop}/checkout
  curl -i http://{shop}/shipping-quote

Make shipping hang. Of 20 checkouts at once ten hang for 2 s, the others fail at once; while
ten hang, one more gets a 503 with `Retry-After`, and /login does not care:

  curl -X POST http://{shipping}/delay/{slow}
  seq 20 | xargs -P 20 -I{{}} curl -s -o /dev/null -w '{timing}' -X POST http://{shop}/checkout
  seq 10 | xargs -P 10 -I{{}} curl -s -o /dev/null -X POST http://{shop}/checkout & sleep 1
  curl -i -X POST http://{shop}/checkout
  curl -i -X POST http://{shop}/login

Make it quick again:

  curl -X POST http://{shipping}/delay/{quick}

End it while a request hangs, and see `/ready` change first:

  curl -X POST http://{shipping}/delay/{slow}
  curl -i http://{shop}/shipping-quote & sleep 1; kill -TERM {process}
  curl -i http://{shop}/ready"
    );
}

/// Three digits and a unit.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_secs_f64() * 1e3;
        match millis {
            ..10.0 => write!(f, "{millis:.1} ms"),
            ..1000.0 => write!(f, "{millis:.0} ms"),
            _ if self.0.subsec_nanos() == 0 => write!(f, "{} s", self.0.as_secs()),
            _ => write!(f, "{:.2} s", millis / 1e3),
        }
    }
}
