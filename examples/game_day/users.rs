//! The users: 300 a second, at fixed times, whatever the answers are.
//!
//! A load that waits for an answer before it sends the next request slows down together with the service, and so
//! hides the very thing to be shown. For the same reason a time is taken from when a request was *due*.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::http::{Http, get, post};

pub(crate) const PER_SECOND: u32 = 300;
pub(crate) const CHECKOUTS_PER_SECOND: u32 = PER_SECOND / 3 * 2;
/// How long a user waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How long one checkout in ten waits.
pub(crate) const LITTLE_PATIENCE: Duration = Duration::from_millis(500);

const HALF_OF_A_VISIT: Duration = Duration::from_millis(60);

/// Every third request is for the critical route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Stock,
    Checkout,
}

/// One user, one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) order: u64,
    pub(crate) route: Route,
    /// When it was due, from the beginning of the load.
    pub(crate) due: Duration,
    pub(crate) took: Duration,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Answered(StatusCode),
    /// The user had no more patience.
    Left,
    /// The connection broke, or there was none.
    Lost,
}

impl Visit {
    pub(crate) fn is_answered(&self, status: StatusCode) -> bool {
        self.ending == Ending::Answered(status)
    }

    /// Payment is asked halfway through: what happens to a partner from some time on happens to those that come a
    /// little earlier.
    pub(crate) fn belongs_to(&self, time: &Range<Duration>) -> bool {
        time.contains(&(self.due + HALF_OF_A_VISIT))
    }

    /// As it should be on a good day: at once, for a user.
    pub(crate) fn is_served_in_time(&self) -> bool {
        self.is_answered(StatusCode::OK) && self.took < LITTLE_PATIENCE
    }

    /// It got what it came for: a checkout may be told that its charge is under way.
    pub(crate) fn is_served(&self) -> bool {
        self.is_answered(StatusCode::OK) || self.is_answered(StatusCode::ACCEPTED)
    }
}

/// Sends users to `service` until `enough`, and returns when each has an answer or has left.
pub(crate) async fn come(
    service: SocketAddr,
    begin: Instant,
    enough: Arc<AtomicBool>,
) -> Vec<Visit> {
    let http = Http::new();
    let mut users = JoinSet::new();
    for order in 0_u32.. {
        let due = Duration::from_secs(1) * order / PER_SECOND;
        sleep_until(begin + due).await;
        if enough.load(Ordering::Relaxed) {
            break;
        }
        users.spawn(visit(http.clone(), service, begin, due, order.into()));
    }
    let mut visits = users.join_all().await;
    visits.sort_by_key(|visit| visit.due);
    visits
}

async fn visit(
    http: Http,
    service: SocketAddr,
    begin: Instant,
    due: Duration,
    order: u64,
) -> Visit {
    let route = match order % 3 {
        0 => Route::Stock,
        _ => Route::Checkout,
    };
    let (request, patience) = match route {
        Route::Stock => (get(service, "/stock"), PATIENCE),
        Route::Checkout if order % 10 == 1 => (
            post(service, &format!("/checkout/{order}")),
            LITTLE_PATIENCE,
        ),
        Route::Checkout => (post(service, &format!("/checkout/{order}")), PATIENCE),
    };
    let answer = timeout_at(begin + due + patience, http.send(request)).await;
    Visit {
        order,
        route,
        due,
        took: (begin + due).elapsed(),
        ending: match answer {
            Ok(Ok((status, _))) => Ending::Answered(status),
            Ok(Err(_)) => Ending::Lost,
            Err(_) => Ending::Left,
        },
    }
}
