//! How far a call reaches: to the head of its response, or to the end of its body.

use std::time::Duration;

use http::Response;
use http_body::Body;

use super::held::HeldBody;
use super::judge::Sealed;
use crate::admission::Flight;
use crate::call::Boxed;
use crate::error::Origin;
use crate::outcome::{Outcome, Verdict};

/// How long a call keeps its permit. [`BulkheadLayer`](super::BulkheadLayer) chooses one.
pub trait Extent<R>: Sealed {
    /// The response of the whole.
    type Response;

    /// Whether it is asked how long the call had waited.
    #[doc(hidden)]
    const ASKS_WAITED: bool;

    /// The service has answered.
    #[doc(hidden)]
    fn answered(&self, response: R, held: Answered) -> Self::Response;

    /// There was no call.
    #[doc(hidden)]
    fn rejected(&self, response: R) -> Self::Response;
}

/// A call whose service has answered: what its permit is good for from here on.
#[doc(hidden)]
#[derive(Debug)]
pub struct Answered {
    /// Before the flight: a breaker hears of a call before its permit is free.
    pub(super) watched: Boxed,
    pub(super) flight: Flight<'static>,
    pub(super) verdict: Verdict,
    pub(super) origin: Origin,
    /// Zero where nobody [asks](Extent::ASKS_WAITED).
    pub(super) waited: Duration,
}

/// The permit is back the moment the service has answered.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct UntilHead;

/// The permit stays until the server has taken the last of the body.
#[derive(Debug, Clone, Copy)]
pub struct UntilBody {
    pub(super) longest: Duration,
}

impl Sealed for UntilHead {}
impl Sealed for UntilBody {}

impl Answered {
    /// The call is over.
    pub(super) fn end(mut self) {
        self.means(self.verdict.into());
    }

    /// From now on, its drop means `outcome`.
    pub(super) fn means(&mut self, outcome: Outcome) {
        if let Some(watched) = &mut self.watched {
            watched.means(outcome);
        }
        self.flight.means(outcome);
    }
}

impl<R> Extent<R> for UntilHead {
    type Response = R;
    const ASKS_WAITED: bool = false;

    fn answered(&self, response: R, held: Answered) -> R {
        held.end();
        response
    }

    fn rejected(&self, response: R) -> R {
        response
    }
}

impl<B> Extent<Response<B>> for UntilBody
where
    B: Body + Send + 'static,
{
    type Response = Response<HeldBody<B>>;
    const ASKS_WAITED: bool = true;

    fn answered(&self, response: Response<B>, mut held: Answered) -> Self::Response {
        let (parts, body) = response.into_parts();
        if let Some(watched) = &mut held.watched {
            watched.stop_clock(self.longest);
            // As its flight does, should the line below panic.
            watched.means(Outcome::Panicked);
        }
        let body = HeldBody::hold(held, self.longest, &parts, body);
        Response::from_parts(parts, body)
    }

    fn rejected(&self, response: Response<B>) -> Self::Response {
        response.map(HeldBody::free)
    }
}
