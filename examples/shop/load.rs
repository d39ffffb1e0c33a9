//! The users: they come at a fixed rate, whatever the answers are.
//!
//! A load that waits for an answer before it sends the next request slows down together with the
//! service and so hides the very thing to be shown. Real users do not know of each other.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::http::Http;

/// How long a user waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// One route and how often it is asked for.
#[derive(Debug)]
pub(crate) struct Route {
    method: Method,
    pub(crate) path: &'static str,
    pub(crate) per_second: u32,
}

/// 100 requests a second, 60 of which need a quote from shipping.
pub(crate) const ROUTES: [Route; 3] = [
    Route {
        method: Method::POST,
        path: LOGIN,
        per_second: 40,
    },
    Route {
        method: Method::POST,
        path: CHECKOUT,
        per_second: 40,
    },
    Route {
        method: Method::GET,
        path: "/shipping-quote",
        per_second: 20,
    },
];
pub(crate) const LOGIN: &str = "/login";
pub(crate) const CHECKOUT: &str = "/checkout";

/// Offers the load to `shop` for so long, and returns when every request has its answer or was given up.
pub(crate) async fn offer(http: &Http, shop: SocketAddr, lasting: Duration) -> Vec<Answers> {
    let begin = Instant::now();
    let routes = ROUTES
        .each_ref()
        .map(|route| tokio::spawn(ask(http.clone(), shop, route, begin, lasting)));
    let mut answers = Vec::with_capacity(routes.len());
    for route in routes {
        answers.push(route.await.expect("asking does not panic"));
    }
    answers
}

async fn ask(
    http: Http,
    shop: SocketAddr,
    route: &'static Route,
    begin: Instant,
    lasting: Duration,
) -> Answers {
    let every = Duration::from_secs(1) / route.per_second;
    let mut due = begin;
    let mut users = JoinSet::new();
    while due < begin + lasting {
        sleep_until(due).await;
        users.spawn(one(http.clone(), shop, route));
        due += every;
    }
    Answers::new(route.path, users.join_all().await)
}

async fn one(http: Http, shop: SocketAddr, route: &'static Route) -> Answer {
    let sent = Instant::now();
    let answer = timeout_at(
        sent + PATIENCE,
        http.send(route.method.clone(), shop, route.path),
    );
    let status = match answer.await {
        Ok(Ok((status, _))) => Some(status),
        Ok(Err(_)) | Err(_) => None,
    };
    Answer {
        status,
        took: sent.elapsed(),
    }
}

/// What one user got; no status when there was no answer in time.
#[derive(Debug, Clone, Copy)]
struct Answer {
    status: Option<StatusCode>,
    took: Duration,
}

/// What all users of one route got in one phase.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) path: &'static str,
    /// Ordered by the time that they took.
    answers: Vec<Answer>,
}

impl Answers {
    fn new(path: &'static str, mut answers: Vec<Answer>) -> Self {
        answers.sort_by_key(|answer| answer.took);
        Self { path, answers }
    }

    pub(crate) fn requests(&self) -> usize {
        self.answers.len()
    }

    pub(crate) fn with(&self, status: StatusCode) -> usize {
        self.answers
            .iter()
            .filter(|answer| answer.status == Some(status))
            .count()
    }

    /// Neither of the statuses that have a column of their own: given up, as a rule.
    pub(crate) fn other(&self) -> usize {
        self.requests()
            - self.with(StatusCode::OK)
            - self.with(StatusCode::SERVICE_UNAVAILABLE)
            - self.with(StatusCode::GATEWAY_TIMEOUT)
    }

    /// The time within which so many percent of the users had their answer or gave up.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        nth(self.answers.iter(), percent)
    }

    /// The same of those alone that got this status.
    pub(crate) fn percentile_with(&self, status: StatusCode, percent: usize) -> Duration {
        nth(
            self.answers
                .iter()
                .filter(|answer| answer.status == Some(status)),
            percent,
        )
    }
}

/// Of times in order, the smallest that is not exceeded by `percent` of them; zero if there are none.
fn nth<'a>(answers: impl Iterator<Item = &'a Answer>, percent: usize) -> Duration {
    let times: Vec<Duration> = answers.map(|answer| answer.took).collect();
    let rank = (times.len() * percent).div_ceil(100);
    times
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}
