//! A rejection as axum's response.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};

use crate::error::BulkheadError;
use crate::outcome::{FromBulkheadError, Verdict};

/// Available with the feature `axum`.
impl IntoResponse for BulkheadError {
    fn into_response(self) -> Response {
        self.to_response::<Body>()
    }
}

/// Available with the feature `axum`.
impl From<BulkheadError> for Response {
    fn from(error: BulkheadError) -> Self {
        error.into_response()
    }
}

/// Available with the feature `axum`: a status of 5xx is a failure.
impl FromBulkheadError for Response {
    fn from_bulkhead_error(error: BulkheadError) -> Self {
        error.into_response()
    }

    fn verdict(&self) -> Verdict {
        if self.status().is_server_error() {
            Verdict::Failure
        } else {
            Verdict::Success
        }
    }
}
