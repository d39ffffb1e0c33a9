//! The two partners: servers whose delay and luck change while they run, and what they saw.
//!
//! What a partner has seen is the only honest count of attempts, and the only one of charges: it is kept outside
//! of the service, which cannot flatter itself here.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::http::{Error, listen, serve};

/// How long a partner takes on a good day.
pub(crate) const PAYMENT_QUICK: Duration = Duration::from_millis(50);
pub(crate) const SHIPPING_QUICK: Duration = Duration::from_millis(20);
/// How long payment takes on a bad one.
pub(crate) const PAYMENT_SLOW: Duration = Duration::from_secs(3);
/// Percent of the requests that a partner answers with 503, having done nothing.
const PAYMENT_REFUSES: u32 = 2;
const SHIPPING_REFUSES: u32 = 5;
const SHIPPING_REFUSES_ON_A_BAD_DAY: u32 = 50;

/// A request that carries this header is charged once, however often it is sent.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Both of them, listening until the program ends.
pub(crate) struct Partners {
    pub(crate) payment: Arc<Partner>,
    pub(crate) shipping: Arc<Partner>,
}

impl Partners {
    pub(crate) async fn start() -> Result<Self, Error> {
        let partners = Self {
            payment: Partner::start("/charge/{order}").await?,
            shipping: Partner::start("/quote/{order}").await?,
        };
        partners.are_well();
        Ok(partners)
    }

    pub(crate) fn are_well(&self) {
        self.payment.behave(PAYMENT_QUICK, PAYMENT_REFUSES);
        self.shipping.behave(SHIPPING_QUICK, SHIPPING_REFUSES);
    }

    /// Payment slows down, and half of what shipping is asked it refuses.
    pub(crate) fn have_a_bad_day(&self) {
        self.payment.behave(PAYMENT_SLOW, PAYMENT_REFUSES);
        self.shipping
            .behave(SHIPPING_QUICK, SHIPPING_REFUSES_ON_A_BAD_DAY);
    }
}

/// One partner.
pub(crate) struct Partner {
    pub(crate) address: SocketAddr,
    delay_millis: AtomicU64,
    refuses_percent: AtomicU32,
    open: AtomicU32,
    most_open: AtomicU32,
    ledger: Mutex<Ledger>,
}

/// What was asked for and what was done, by order number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger(HashMap<u64, Entry>);

/// One order: one call of the service.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    /// Each request for it: an attempt. There is at least one.
    pub(crate) attempts: Vec<Instant>,
    pub(crate) charges: u32,
    is_keyed: bool,
}

impl Partner {
    async fn start(path: &str) -> Result<Arc<Self>, Error> {
        let (listener, address) = listen().await?;
        let partner = Arc::new(Self {
            address,
            delay_millis: AtomicU64::new(0),
            refuses_percent: AtomicU32::new(0),
            open: AtomicU32::new(0),
            most_open: AtomicU32::new(0),
            ledger: Mutex::default(),
        });
        let router = Router::new().route(path, post(answer));
        let router = router.with_state(Arc::clone(&partner));
        tokio::spawn(serve(listener, router, std::future::pending()));
        Ok(partner)
    }

    fn behave(&self, delay: Duration, refuses_percent: u32) {
        let millis = u64::try_from(delay.as_millis()).expect("a delay of this file is short");
        self.delay_millis.store(millis, Ordering::Relaxed);
        self.refuses_percent
            .store(refuses_percent, Ordering::Relaxed);
    }

    pub(crate) async fn ledger(&self) -> Ledger {
        self.ledger.lock().await.clone()
    }

    /// The most requests that it ever had at once.
    pub(crate) fn most_open(&self) -> u32 {
        self.most_open.load(Ordering::Relaxed)
    }
}

impl Ledger {
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, &Entry)> {
        self.0.iter().map(|(order, entry)| (*order, entry))
    }

    fn arrived(&mut self, order: u64) {
        self.entry(order).attempts.push(Instant::now());
    }

    /// The money moves. Sent again under its key, an order has been charged already.
    fn charge(&mut self, order: u64, is_keyed: bool) {
        let entry = self.entry(order);
        if !(is_keyed && entry.is_keyed) {
            entry.charges += 1;
            entry.is_keyed = is_keyed;
        }
    }

    fn entry(&mut self, order: u64) -> &mut Entry {
        self.0.entry(order).or_default()
    }
}

/// What is asked for happens first, and the answer takes its time: who leaves in between has been charged.
async fn answer(
    State(partner): State<Arc<Partner>>,
    Path(order): Path<u64>,
    headers: HeaderMap,
) -> Result<String, StatusCode> {
    let _open = Open::enter(&partner);
    let is_refused = fastrand::u32(0..100) < partner.refuses_percent.load(Ordering::Relaxed);
    {
        let mut ledger = partner.ledger.lock().await;
        ledger.arrived(order);
        if is_refused {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        ledger.charge(order, headers.contains_key(IDEMPOTENCY_KEY));
    }
    let delay = partner.delay_millis.load(Ordering::Relaxed);
    sleep(Duration::from_millis(delay)).await;
    Ok(format!("{}", 390 + order % 100))
}

/// A request that is being answered, until its client has left.
struct Open<'a>(&'a Partner);

impl<'a> Open<'a> {
    fn enter(partner: &'a Partner) -> Self {
        let open = partner.open.fetch_add(1, Ordering::Relaxed) + 1;
        partner.most_open.fetch_max(open, Ordering::Relaxed);
        Self(partner)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
