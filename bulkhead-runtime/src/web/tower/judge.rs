//! How a service says that a call was rejected, and what its answers mean.

use http::Response;

use crate::error::BulkheadError;
use crate::outcome::{FromBulkheadError, Verdict, verdict_of_result};
use crate::web::http::mark_for_envoy;

/// How a [`Bulkhead`](super::Bulkhead) answers a rejected call, and what the answers of its service mean.
/// [`BulkheadLayer`](super::BulkheadLayer) chooses one.
pub trait Judge<R, E>: Sealed {
    /// The answer to a call that may not run, or that ran out of time.
    #[doc(hidden)]
    fn reject(&self, error: BulkheadError) -> Result<R, E>;

    /// What an answer of the service means.
    #[doc(hidden)]
    fn verdict(&self, answer: &Result<R, E>) -> Verdict;
}

/// Nobody else implements [`Judge`], so that it may grow.
pub trait Sealed {}

/// A rejection is a response: [`FromBulkheadError`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ByResponse;

/// A rejection is an error: `From<BulkheadError>`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ByError;

/// A rejection is what a function makes of it.
#[derive(Debug, Clone, Copy)]
pub struct ByFunction<F>(pub(super) F);

/// A function says what an answer means.
#[derive(Debug, Clone, Copy)]
pub struct Classified<J, C> {
    pub(super) judge: J,
    pub(super) classify: C,
}

/// A rejection tells Envoy not to retry it.
#[derive(Debug, Clone, Copy)]
pub struct ForEnvoy<J>(pub(super) J);

impl Sealed for ByResponse {}
impl Sealed for ByError {}
impl<F> Sealed for ByFunction<F> {}
impl<J: Sealed, C> Sealed for Classified<J, C> {}
impl<J: Sealed> Sealed for ForEnvoy<J> {}

impl<R: FromBulkheadError, E> Judge<R, E> for ByResponse {
    fn reject(&self, error: BulkheadError) -> Result<R, E> {
        Ok(R::from_bulkhead_error(error))
    }

    fn verdict(&self, answer: &Result<R, E>) -> Verdict {
        answer.as_ref().map_or(Verdict::Failure, R::verdict)
    }
}

impl<R, E: From<BulkheadError>> Judge<R, E> for ByError {
    fn reject(&self, error: BulkheadError) -> Result<R, E> {
        Err(E::from(error))
    }

    fn verdict(&self, answer: &Result<R, E>) -> Verdict {
        verdict_of_result(answer)
    }
}

impl<R, E, F: Fn(BulkheadError) -> Result<R, E>> Judge<R, E> for ByFunction<F> {
    fn reject(&self, error: BulkheadError) -> Result<R, E> {
        (self.0)(error)
    }

    fn verdict(&self, answer: &Result<R, E>) -> Verdict {
        verdict_of_result(answer)
    }
}

impl<R, E, J, C> Judge<R, E> for Classified<J, C>
where
    J: Judge<R, E>,
    C: Fn(&Result<R, E>) -> Verdict,
{
    fn reject(&self, error: BulkheadError) -> Result<R, E> {
        self.judge.reject(error)
    }

    fn verdict(&self, answer: &Result<R, E>) -> Verdict {
        (self.classify)(answer)
    }
}

impl<B, E, J: Judge<Response<B>, E>> Judge<Response<B>, E> for ForEnvoy<J> {
    fn reject(&self, error: BulkheadError) -> Result<Response<B>, E> {
        let never_ran = !error.body_ran();
        self.0.reject(error).map(|mut response| {
            if never_ran {
                mark_for_envoy(response.headers_mut());
            }
            response
        })
    }

    fn verdict(&self, answer: &Result<Response<B>, E>) -> Verdict {
        self.0.verdict(answer)
    }
}
