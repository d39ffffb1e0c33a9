//! How the partners are called under the contract: everything that was decided about a partner stands at the
//! function that calls it.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bulkhead_runtime::{Deadline, Partition, bulkhead, partition};

use super::{Quote, Service, ServiceError};
use crate::partner::IDEMPOTENCY_KEY;

/// Calm, ten calls are in flight. Thirty are a fifth of the room that the service has: whatever payment does, the
/// rest is there for everything else.
#[partition(
    name = "payment", max = 30, queue = 10, wait = 50ms,
    measured(rate = 200, mean = 60ms),
    breaker(slow = 1s, window = 2s, min_calls = 10, open_for = 300ms, max_open_for = 500ms, probes = 2),
    retry_budget(ratio = 10%, min = 3, window = 1s),
)]
pub(crate) static PAYMENT: Partition;

/// No breaker: half of what it is asked, shipping answers on its worst day.
#[partition(
    name = "shipping", max = 20, queue = 10, wait = 50ms,
    measured(rate = 200, mean = 25ms),
    retry_budget(ratio = 10%, min = 3, window = 1s),
)]
pub(crate) static SHIPPING: Partition;

/// How long a user is kept waiting for a charge. One that takes longer goes on, and the user is told so.
const CONFIRM_WITHIN: Duration = Duration::from_secs(1);

pub(super) async fn checkout(
    service: Arc<Service>,
    order: u64,
) -> Result<(StatusCode, String), ServiceError> {
    let quote = quote(Arc::clone(&service), order).await?;
    let confirmed = Deadline::after(CONFIRM_WITHIN).scope(charge(service, order));
    match confirmed.await {
        Ok(cents) => Ok((StatusCode::OK, format!("charged {cents} cents, {quote}\n"))),
        Err(ServiceError::Bulkhead(error)) if error.body_ran() => {
            let answer = format!("the charge is under way, {quote}\n");
            Ok((StatusCode::ACCEPTED, answer))
        }
        Err(error) => Err(error),
    }
}

/// A price can be asked for twice, and guessed if nobody tells it.
#[bulkhead(
    SHIPPING, timeout = 300ms,
    retry(idempotent, attempts = 3, backoff = 10ms, when = ServiceError::is_refusal),
    fallback = estimate(service, error),
)]
async fn quote(service: Arc<Service>, order: u64) -> Result<Quote, ServiceError> {
    let shipping = &service.shipping;
    let request = shipping.post(&format!("/quote/{order}"));
    let cents = shipping.cents(request).await?;
    *service.last_quote.lock().await = Some(cents);
    Ok(Quote {
        cents,
        is_estimate: false,
    })
}

/// What shipping asked for last.
async fn estimate(service: Arc<Service>, error: ServiceError) -> Result<Quote, ServiceError> {
    let last_quote = *service.last_quote.lock().await;
    Ok(Quote {
        cents: last_quote.ok_or(error)?,
        is_estimate: true,
    })
}

/// The money moves when payment is asked, whoever still waits for the answer: so the charge settles, and its timeout
/// is longer than payment takes on its worst day. The key makes it idempotent.
#[bulkhead(
    PAYMENT, timeout = 5s, settle,
    retry(idempotent, attempts = 2, backoff = 20ms, when = ServiceError::is_refusal),
)]
async fn charge(service: Arc<Service>, order: u64) -> Result<u32, ServiceError> {
    let payment = &service.payment;
    let request = payment.post(&format!("/charge/{order}"));
    let keyed = request.header(IDEMPOTENCY_KEY, order);
    let cents = payment.cents(keyed).await?;
    service.books.lock().await.push(order);
    Ok(cents)
}
