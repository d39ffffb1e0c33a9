//! Statuses, `Retry-After` and problem details (RFC 9457) for the types of the crate `http`.

use std::fmt::Write as _;
#[cfg(feature = "tonic")]
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use crate::error::{BulkheadError, LONGEST_RETRY_AFTER, Reason};

/// Available with the feature `http`.
impl BulkheadError {
    /// The status that says it: for a call whose body never ran, the [`status`](crate::Policy::status) of its
    /// partition, which is 503 or 429, also where its fallback ran out of time; for one whose body ran, 504.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        if self.body_ran() {
            StatusCode::GATEWAY_TIMEOUT
        } else {
            self.rejection_status()
        }
    }

    fn rejection_status(&self) -> StatusCode {
        match self.policy().status() {
            429 => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The whole response: status, `Retry-After` where trying again may help, and problem details.
    ///
    /// `Retry-After` is in whole seconds, drawn for each response between
    /// [`retry_after`](Self::retry_after), rounded up, and twice as much, and from 15 to 30 for the longest
    /// hints: clients that were rejected in one instant come back over at least two whole seconds, and over
    /// the more of them, the longer the hint. For a breaker that is open it is the time until its next probe,
    /// rounded up, and at least one second. The body is `application/problem+json` and names the partition and the
    /// reason, nothing else.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, Partition};
    /// #[partition(name = "quotes", max = 1)]
    /// static QUOTES: Partition;
    ///
    /// let _permit = QUOTES.try_enter()?;
    /// let response = QUOTES.try_enter().unwrap_err().to_response::<String>();
    /// assert_eq!(response.status(), 503);
    /// assert_eq!(response.headers()["content-type"], "application/problem+json");
    /// assert!(["1", "2"].map(|s| s.as_bytes()).contains(&response.headers()["retry-after"].as_bytes()));
    /// # Ok::<(), bulkhead_runtime::BulkheadError>(())
    /// ```
    #[must_use]
    pub fn to_response<B: From<String>>(&self) -> Response<B> {
        let mut response = Response::new(B::from(self.problem()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = self.retry_after_seconds() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// [`to_response`](Self::to_response), and for a call that never ran `x-envoy-ratelimited: true` too.
    ///
    /// Envoy does not retry a response with that header, unless its retry policy says
    /// `envoy-ratelimited`: a rejection is answered once, and not tried again while the partition is
    /// full.
    ///
    /// # Examples
    /// ```
    /// # use bulkhead_runtime::{partition, Partition};
    /// #[partition(name = "invoices", max = 1)]
    /// static INVOICES: Partition;
    ///
    /// let _permit = INVOICES.try_enter()?;
    /// let response = INVOICES.try_enter().unwrap_err().to_envoy_response::<String>();
    /// assert_eq!(response.headers()["x-envoy-ratelimited"], "true");
    /// # Ok::<(), bulkhead_runtime::BulkheadError>(())
    /// ```
    #[must_use]
    pub fn to_envoy_response<B: From<String>>(&self) -> Response<B> {
        let mut response = self.to_response();
        if !self.body_ran() {
            mark_for_envoy(response.headers_mut());
        }
        response
    }

    /// Every whole number of seconds from once to twice the hint is as likely as the others. Rounding
    /// up a factor instead would send everybody back after two seconds when the hint is one.
    pub(super) fn retry_after_seconds(&self) -> Option<u64> {
        let hint = self.retry_after()?;
        let least = hint.as_secs() + u64::from(hint.subsec_nanos() > 0);
        if self.reason() == Reason::BreakerOpen {
            return Some(least.max(1));
        }
        Some(spread(least, LONGEST_RETRY_AFTER.as_secs()))
    }

    /// The same where no whole seconds are asked for.
    #[cfg(feature = "tonic")]
    pub(super) fn retry_after_millis(&self) -> Option<u64> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let hint = self.retry_after()?;
        if self.reason() == Reason::BreakerOpen {
            return Some(millis(hint + Duration::from_nanos(999_999)));
        }
        Some(spread(millis(hint), millis(LONGEST_RETRY_AFTER)))
    }

    /// What a stranger may know.
    pub(super) fn detail(&self) -> &'static str {
        match self.reason() {
            _ if self.body_ran() => "the call took too long",
            Reason::Closed => "closed at the moment",
            Reason::BreakerOpen => "not available at the moment",
            _ => "too many calls at the moment",
        }
    }

    fn problem(&self) -> String {
        let status = self.status();
        let title = status.canonical_reason().unwrap_or_default();
        let detail = self.detail();
        let mut problem = String::with_capacity(160);
        // Neither a name nor a reason has a character that JSON would have to escape.
        write!(
            problem,
            r#"{{"type":"about:blank","title":"{title}","status":{},"detail":"{detail}","partition":"{}","reason":"{}"}}"#,
            status.as_u16(),
            self.partition(),
            self.reason(),
        )
        .expect("a string takes everything");
        problem
    }
}

/// From once to twice as much, and from half of the longest to the whole of it for what is longer.
fn spread(least: u64, longest: u64) -> u64 {
    fastrand::u64(least.min(longest / 2)..=(2 * least).min(longest))
}

/// Tells Envoy that this is a rejection, and not to be retried.
pub(super) fn mark_for_envoy(headers: &mut HeaderMap) {
    headers.insert("x-envoy-ratelimited", HeaderValue::from_static("true"));
}

impl From<BulkheadError> for StatusCode {
    fn from(error: BulkheadError) -> Self {
        error.status()
    }
}
