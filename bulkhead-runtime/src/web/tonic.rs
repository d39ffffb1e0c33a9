//! A rejection as a gRPC status.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use tonic::body::Body;
use tonic::metadata::MetadataValue;
#[cfg(feature = "tower")]
use tonic::server::NamedService;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::grpc;
#[cfg(feature = "tower")]
use super::tower::{Bulkhead, WithDeadline};
use crate::error::{BulkheadError, Reason};
use crate::outcome::{FromBulkheadError, Verdict};

/// Available with the feature `tonic`.
///
/// A call that never ran is `UNAVAILABLE`, or `RESOURCE_EXHAUSTED` where the
/// [`status`](crate::Policy::status) of its partition is 429; one whose deadline passed or that ran out
/// of time is `DEADLINE_EXCEEDED`. The details are those of `google.rpc`: an `ErrorInfo` with the domain
/// `bulkhead`, the [`Reason`] in capitals and the
/// partition, and where trying again may help a `RetryInfo`, drawn for each status between
/// [`retry_after`](BulkheadError::retry_after) and twice as much, and from 15 to 30 s for the longest
/// hints, in milliseconds; the metadata `grpc-retry-pushback-ms` says it to clients that retry by
/// themselves. The error itself is the [source](std::error::Error::source) of the status, on this side of
/// the wire.
impl From<BulkheadError> for Status {
    fn from(error: BulkheadError) -> Self {
        let retry = error.retry_after_millis();
        let mut details = ErrorDetails::with_error_info(
            error.reason().as_str().to_ascii_uppercase(),
            "bulkhead",
            HashMap::from([("partition".to_owned(), error.partition().to_owned())]),
        );
        if let Some(millis) = retry {
            details.set_retry_info(Some(Duration::from_millis(millis)));
        }
        let mut status = Self::with_error_details(code(&error), error.detail(), details);
        if let Some(millis) = retry {
            let metadata = status.metadata_mut();
            metadata.insert("grpc-retry-pushback-ms", MetadataValue::from(millis));
        }
        status.set_source(Arc::new(error));
        status
    }
}

/// Available with the features `tonic` and `tower`: one service of a server may have a partition of its own.
#[cfg(feature = "tower")]
impl<S: NamedService, J, X> NamedService for Bulkhead<S, J, X> {
    const NAME: &'static str = S::NAME;
}

/// Available with the features `tonic` and `tower`: one service of a server may have a cap of its own.
#[cfg(feature = "tower")]
impl<S: NamedService> NamedService for WithDeadline<S> {
    const NAME: &'static str = S::NAME;
}

fn code(error: &BulkheadError) -> Code {
    match error.reason() {
        Reason::CallTimeout | Reason::DeadlineExceeded => Code::DeadlineExceeded,
        Reason::Full | Reason::WaitTimeout | Reason::BreakerOpen | Reason::Closed => {
            match error.policy().status() {
                429 => Code::ResourceExhausted,
                _ => Code::Unavailable,
            }
        }
    }
}

/// Available with the feature `tonic`: what a [`BulkheadLayer`](crate::BulkheadLayer) on a server or a
/// channel answers. A rejection is a status without a body; a status of the server's fault is a failure.
impl FromBulkheadError for Response<Body> {
    fn from_bulkhead_error(error: BulkheadError) -> Self {
        Status::from(error).into_http()
    }

    fn verdict(&self) -> Verdict {
        match grpc::verdict(self.headers()) {
            Some(verdict) => verdict,
            None if self.status().is_server_error() => Verdict::Failure,
            None => Verdict::Success,
        }
    }
}
