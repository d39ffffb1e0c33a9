//! What a gRPC status says about who answered, and one of our own.

use http::HeaderMap;
#[cfg(feature = "tower")]
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use crate::outcome::Verdict;

/// The verdict on the `grpc-status` of a response without a body, or of its trailers; `None` where
/// there is none.
///
/// A code is a failure where the gateways' mapping to HTTP (`google.rpc.Code`) makes it a 5xx: unknown
/// (2), deadline exceeded (4), unimplemented (12), internal (13), unavailable (14) and data loss (15); and
/// so is a value that is no code, which clients take for unknown.
pub(super) fn verdict(headers: &HeaderMap) -> Option<Verdict> {
    match headers.get("grpc-status")?.as_bytes() {
        b"0" | b"1" | b"3" | b"5" | b"6" | b"7" | b"8" | b"9" | b"10" | b"11" | b"16" => {
            Some(Verdict::Success)
        }
        _ => Some(Verdict::Failure),
    }
}

/// Whether it is a response of gRPC proper, whose errors travel in its trailers. Those of gRPC-Web travel
/// in its body.
#[cfg(feature = "tower")]
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        let rest = value.as_bytes().strip_prefix(b"application/grpc");
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
    })
}

/// The trailers of a stream that took too long: deadline exceeded (4).
#[cfg(feature = "tower")]
pub(super) fn too_long() -> HeaderMap {
    let trailers = [
        ("grpc-status", "4"),
        ("grpc-message", "the call took too long"),
    ];
    trailers
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .into_iter()
        .collect()
}
