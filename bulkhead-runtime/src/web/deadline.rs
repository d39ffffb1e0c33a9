//! A deadline in the headers of a request. The layers of `tower` use what is here, and so may everybody who
//! has no layer.

mod text;

use std::time::Duration;

use http::{HeaderMap, HeaderValue};

pub(super) use self::text::Header;
use crate::deadline::Deadline;

/// Available with the feature `http`.
impl Deadline {
    /// The deadline of a request that has these headers and arrives now: after `cap`, or sooner if the client
    /// says so.
    ///
    /// Two headers are read: `x-request-timeout-ms`, whole milliseconds, and `grpc-timeout`, one to eight
    /// digits and a unit (`H`, `M`, `S`, `m`, `u` or `n`: hours to nanoseconds). If both are there, the
    /// shorter holds. So a client can shorten what it is given, and never lengthen it: what says more than
    /// `cap`, what is malformed (empty, negative, with a fraction, a space or a digit too many) and what is
    /// there twice counts as if it were not there. Zero is a deadline that has passed.
    ///
    /// `tower::DeadlineLayer`, with the feature `tower`, does it for every request.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use bulkhead_runtime::Deadline;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), http::header::InvalidHeaderValue> {
    /// const CAP: Duration = Duration::from_secs(10);
    /// let mut headers = http::HeaderMap::new();
    /// assert_eq!(Deadline::from_headers(&headers, CAP).remaining(), CAP);
    ///
    /// headers.insert("x-request-timeout-ms", "250".parse()?);
    /// assert_eq!(Deadline::from_headers(&headers, CAP).remaining(), Duration::from_millis(250));
    ///
    /// headers.insert("x-request-timeout-ms", "3600000".parse()?);
    /// assert_eq!(Deadline::from_headers(&headers, CAP).remaining(), CAP);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn from_headers(headers: &HeaderMap, cap: Duration) -> Self {
        let told = Header::ALL.into_iter().filter_map(|it| told(headers, it));
        Self::after(told.fold(cap, Duration::min))
    }

    /// Tells the server how much time is left, less `margin`, in `x-request-timeout-ms`.
    ///
    /// `margin` is what the network and the reply need. What is left is rounded down to whole milliseconds;
    /// where nothing is left, the header says 0. A time that the headers name already stays if it is not
    /// longer; one that is longer or malformed is replaced.
    ///
    /// `tower::PropagateDeadlineLayer`, with the feature `tower`, does it for every request of a client.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use bulkhead_runtime::Deadline;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let handler = async {
    ///     let mut headers = http::HeaderMap::new();
    ///     if let Some(deadline) = Deadline::current() {
    ///         deadline.propagate(&mut headers, Duration::from_millis(50));
    ///     }
    ///     headers
    /// };
    /// let headers = Deadline::after(Duration::from_secs(2)).scope(handler).await;
    /// assert_eq!(headers["x-request-timeout-ms"], "1950");
    /// # }
    /// ```
    pub fn propagate(self, headers: &mut HeaderMap, margin: Duration) {
        propagate(self, headers, margin, Header::Millis);
    }

    /// [`propagate`](Self::propagate) in `grpc-timeout`, for gRPC.
    ///
    /// In the finest unit that fits its eight digits, rounded down. That header knows no zero: where nothing
    /// is left, it says a nanosecond, `1n`.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use bulkhead_runtime::Deadline;
    ///
    /// let mut headers = http::HeaderMap::new();
    /// Deadline::after(Duration::ZERO).propagate_grpc(&mut headers, Duration::ZERO);
    /// assert_eq!(headers["grpc-timeout"], "1n");
    /// ```
    pub fn propagate_grpc(self, headers: &mut HeaderMap, margin: Duration) {
        propagate(self, headers, margin, Header::Grpc);
    }
}

/// Tells in `header` what is left, unless it says no more than that already.
pub(super) fn propagate(
    deadline: Deadline,
    headers: &mut HeaderMap,
    margin: Duration,
    header: Header,
) {
    let left = deadline.remaining().saturating_sub(margin);
    if told(headers, header).is_none_or(|own| own > left) {
        let value = HeaderValue::try_from(header.write(left)).expect("digits, and a letter");
        headers.insert(header.name(), value);
    }
}

/// What a header says, if it is there once and well-formed.
fn told(headers: &HeaderMap, header: Header) -> Option<Duration> {
    let mut values = headers.get_all(header.name()).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => header.read(only.as_bytes()),
        _ => None,
    }
}
