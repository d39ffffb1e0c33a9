//! How the partners are called without the contract: each line is reasonable, and they do not know each other.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::timeout;

use super::{Quote, Service, ServiceError};

/// The timeout of the HTTP client: ten times what payment takes.
const CLIENT_TIMEOUT: Duration = Duration::from_millis(500);
/// "The network is flaky, so we try three times", says the client. So says the checkout, which calls it.
const ATTEMPTS: usize = 3;

pub(super) async fn checkout(
    service: Arc<Service>,
    order: u64,
) -> Result<(StatusCode, String), ServiceError> {
    let quote = quote(&service, order).await?;
    let cents = persistently(|| charge(&service, order)).await?;
    service.books.lock().await.push(order);
    Ok((StatusCode::OK, format!("charged {cents} cents, {quote}\n")))
}

async fn quote(service: &Service, order: u64) -> Result<Quote, ServiceError> {
    let shipping = &service.shipping;
    let path = format!("/quote/{order}");
    let cents = persistently(|| in_time(shipping.cents(shipping.post(&path)))).await?;
    Ok(Quote {
        cents,
        is_estimate: false,
    })
}

/// Nothing tells the partner that the second request means the same charge as the first.
async fn charge(service: &Service, order: u64) -> Result<u32, ServiceError> {
    let payment = &service.payment;
    let path = format!("/charge/{order}");
    persistently(|| in_time(payment.cents(payment.post(&path)))).await
}

async fn persistently<T, F>(attempt: impl Fn() -> F) -> Result<T, ServiceError>
where
    F: Future<Output = Result<T, ServiceError>>,
{
    for _ in 1..ATTEMPTS {
        if let Ok(answer) = attempt().await {
            return Ok(answer);
        }
    }
    attempt().await
}

async fn in_time<T>(
    request: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, ServiceError> {
    let answer = timeout(CLIENT_TIMEOUT, request).await;
    answer.unwrap_or(Err(ServiceError::Partner))
}
