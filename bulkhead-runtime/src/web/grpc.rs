//! What a gRPC status says about who answered.

use http::HeaderMap;

use crate::outcome::Verdict;

/// The verdict on the `grpc-status` of a response without a body, or of its trailers; `None` where
/// there is none.
///
/// A code is a failure where the gateways' mapping to HTTP (`google.rpc.Code`) makes it a 5xx: unknown
/// (2), deadline exceeded (4), unimplemented (12), internal (13), unavailable (14) and data loss (15).
pub(super) fn verdict(headers: &HeaderMap) -> Option<Verdict> {
    match headers.get("grpc-status")?.as_bytes() {
        b"2" | b"4" | b"12" | b"13" | b"14" | b"15" => Some(Verdict::Failure),
        _ => Some(Verdict::Success),
    }
}
