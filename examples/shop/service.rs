//! The shop: three routes, and room for so many requests.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use tokio::sync::Semaphore;

use crate::clients::{Arrangement, Cents, Partner, Partners, ShopError};
use crate::partners::Running;

/// How many requests the shop works on at once; the others wait at the door.
pub(crate) const ROOM: usize = 50;

const GOODS: Cents = 2_500;
const PARCEL_GRAMS: u32 = 800;

pub(crate) fn router(arrangement: Arrangement, partners: &Running) -> Router {
    let partners = Partners {
        arrangement,
        shipping: Partner::at(partners.shipping()),
        payment: Partner::at(partners.payment()),
    };
    let room = Arc::new(Semaphore::new(ROOM));
    Router::new()
        .route("/login", post(login))
        .route("/checkout", post(checkout))
        .route("/shipping-quote", get(shipping_quote))
        .with_state(partners)
        .layer(middleware::from_fn_with_state(room, wait_for_room))
}

async fn login() -> &'static str {
    "welcome back\n"
}

async fn checkout(State(partners): State<Partners>) -> Result<String, ShopError> {
    let shipping = partners.quote(PARCEL_GRAMS).await?;
    let charged = partners.charge(GOODS + shipping).await?;
    Ok(format!(
        "thank you: {} charged, {} of it for shipping\n",
        Euros(charged),
        Euros(shipping)
    ))
}

async fn shipping_quote(State(partners): State<Partners>) -> Result<String, ShopError> {
    let shipping = partners.quote(PARCEL_GRAMS).await?;
    Ok(format!("shipping costs {}\n", Euros(shipping)))
}

/// The limit that every server has somewhere: worker threads, database connections, memory. Who finds
/// no room waits, first come, first served. A request keeps its place while a partner keeps it waiting.
async fn wait_for_room(
    State(room): State<Arc<Semaphore>>,
    request: Request,
    next: Next,
) -> Response {
    let _place = room.acquire().await.expect("nobody closes the semaphore");
    next.run(request).await
}

struct Euros(Cents);

impl std::fmt::Display for Euros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02} EUR", self.0 / 100, self.0 % 100)
    }
}
